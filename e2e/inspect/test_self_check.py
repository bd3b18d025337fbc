"""Inspect AI's own checks of a sandbox environment, on Seer's."""

import pytest
from inspect_ai.util._sandbox.self_check import *  # noqa: F403

from seer.inspect import SeerSandbox

UNSUPPORTED = {"test_exec_as_user": "bubblewrap maps one user into a sandbox"}


@pytest.fixture(scope="module")
def anyio_backend():
    return "asyncio"


@pytest.fixture(scope="module")
async def environment():
    environments = await SeerSandbox.sample_init("self_check", None, {})
    yield environments["default"]
    await SeerSandbox.sample_cleanup("self_check", None, environments, False)


@pytest.fixture
async def sandbox_env(request, environment):
    if request.node.originalname in UNSUPPORTED:
        request.node.add_marker(pytest.mark.xfail(reason=UNSUPPORTED[request.node.originalname], strict=True))
    return environment


pytestmark = pytest.mark.anyio
