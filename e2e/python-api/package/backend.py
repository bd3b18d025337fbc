"""Builds the package without an index: as an editable one, it is its folder."""

import os
import zipfile


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    name = "research-1.0-py3-none-any.whl"
    with zipfile.ZipFile(os.path.join(wheel_directory, name), "w") as wheel:
        wheel.writestr("research.pth", os.getcwd() + "\n")
        wheel.writestr("research-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: research\nVersion: 1.0\n")
        wheel.writestr("research-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr("research-1.0.dist-info/RECORD", "")
    return name
