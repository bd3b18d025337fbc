// A fetcher that tells in its answers all that it was given, and reads folders.
import { FileRef, Fetcher, Folder, Json, Location, ModelFile, ModelRef, ResolvedModel, fetcher } from "@seer-engine/sdk";

class V1 extends Fetcher {
  resolve(ref: ModelRef): ResolvedModel {
    const given = Json.object().set("source", ref.source).set("name", ref.name).set("revision", ref.revision)
      .set("include", ref.include).set("exclude", ref.exclude);
    const model = new ResolvedModel(given.toString(), "r1");
    if (!ref.name.startsWith("/")) {
      const file = new ModelFile("a/b.bin", 1 << 40);
      file.sha256 = "00".repeat(32);
      file.gitSHA1 = "11".repeat(20);
      model.files = [file, new ModelFile("empty", 0)];
      return model;
    }
    const folder = new Folder(ref.name), files = folder.files();
    for (let i = 0; i < files.length; i++) {
      if (!ref.wants(files[i].path)) continue;
      const file = new ModelFile(files[i].path, files[i].size);
      file.sha256 = folder.digest(files[i].path);
      model.files.push(file);
    }
    model.revision = "read: " + folder.readText("notes/a.txt");
    return model;
  }

  locate(file: FileRef): Location {
    const l = new Location("https://v1.example/" + file.source + "/" + file.name + "/" + file.revision + "/" + file.path);
    l.headers.set("X-V1", "yes");
    l.expiresSeconds = 60;
    return l;
  }
}

export function fetcher_resolve(): i32 { return fetcher.resolve(new V1()); }
export function fetcher_locate(): i32 { return fetcher.locate(new V1()); }
