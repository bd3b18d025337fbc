// A provider that tells the server all that it was given, and answers with every field
// that an answer may have.
import {
  Code, CreateStep, Endpoint, Isolation, Json, Listed, MachineSpec, Observation, Offer, OfferQuery, Provider,
  ProviderInfo, Request, SnapshotStep, encodeText, fail, giveUp, log, now, provider, random, send, setting, settings,
} from "@seer-engine/sdk";
import { take } from "@seer-engine/sdk/assembly/abi";
import { ask } from "@seer-engine/sdk/assembly/ask";

// @ts-ignore: decorator
@external("extism:host/user", "grpc_open")
declare function grpc_open(block: u64): u64;

// @ts-ignore: decorator
@external("extism:host/user", "stream_send")
declare function stream_send(stream: i64, block: u64, flags: i32): i32;

// @ts-ignore: decorator
@external("extism:host/user", "stream_wait")
declare function stream_wait(milliseconds: i64): u64;

class V1 extends Provider {
  describe(): ProviderInfo {
    const info = new ProviderInfo("v1", "Version 1");
    info.features = ["build", "tags", "volumes", "snapshot", "self_end", "idle_timeout", "host_mounts", "of_tomorrow"];
    info.gpus = ["H100-SXM", "L4"];
    info.isolations = [new Isolation("strong"), new Isolation("weak", false, "not here")];
    info.pollSeconds = 1.5;
    info.maxTimeoutSeconds = 86400;
    return info;
  }

  offers(q: OfferQuery): Offer[] {
    tell("offers", Json.object().set("gpu", q.gpu).set("gpu_count", q.gpuCount).set("cpu", q.cpu).set("memory_gb", q.memoryGB)
      .set("disk_gb", q.diskGB).set("regions", q.regions).set("options", q.options));
    const all = new Offer("h100:eu", 2.5), none = new Offer("small", 0);
    all.gpu = "H100-SXM";
    all.gpuCount = 2;
    all.gpuMemoryGB = 80;
    all.memoryGB = 128.5;
    all.region = "eu";
    all.stock = "low";
    return [none, all];
  }

  create(spec: MachineSpec, cursor: Json): CreateStep {
    tell("create", Json.object().set("spec", specJson(spec)).set("cursor", cursor));
    if (cursor.isNull) {
      const first = CreateStep.again(Json.object().set("step", 1).set("of", [true, false]), 0.25);
      first.log = ["building", "line 2"];
      return first;
    }
    const last = CreateStep.done("m/" + spec.key);
    last.log = ["built"];
    return last;
  }

  observe(handles: string[]): Observation[] {
    tell("observe", Json.object().set("handles", handles));
    const out: Observation[] = [];
    for (let i = 0; i < handles.length; i++) {
      if (handles[i].startsWith("fail ")) fail(handles[i].slice(5), "as was wished", 2.5);
      const o = new Observation(handles[i], ["pending", "building", "starting", "running", "stopped", "failed"][i % 6]);
      o.message = "number " + i.toString();
      o.code = "no_capacity";
      o.endpoints = [new Endpoint(8000, "https://" + i.toString() + ".v1.example"), new Endpoint(22, "http://127.0.0.1:22")];
      o.costPerHour = 0.125;
      o.isolation = "strong";
      out.push(o);
    }
    return out;
  }

  list(owner: string): Listed[] {
    tell("list", Json.object().set("owner", owner));
    const l = new Listed("m/1", "seer-1", owner, "running");
    l.endUnix = 1900000000;
    return [l, new Listed("m/2", "seer-2", owner, "stopped")];
  }

  /** What is asked for is the handle. */
  terminate(handle: string): void {
    if (handle == "settings") tell("terminate", Json.of(settings()));
    else if (handle == "upload") upload();
    else if (handle == "download") download();
    else if (handle == "refused") refused();
    else if (handle == "grpc") grpc();
    else if (handle == "world") world();
    else if (handle == "log") speak();
    else if (handle == "panic") throw new Error("as was wished");
    else if (handle == "memory") memory();
    else if (handle == "loop") while (true) {}
    else tell("terminate", Json.object().set("handle", handle));
  }

  snapshot(handle: string, key: string, cursor: Json): SnapshotStep {
    tell("snapshot", Json.object().set("handle", handle).set("key", key).set("cursor", cursor));
    const s = new SnapshotStep();
    s.log = ["copying"];
    if (cursor.isNull) {
      s.cursor = Json.of(7);
      s.afterSeconds = 1;
    } else {
      s.image = "image of " + handle;
    }
    return s;
  }
}

function specJson(s: MachineSpec): Json {
  const volumes = Json.list(), mounts = Json.list(), image = s.image;
  for (let i = 0; i < s.volumes.length; i++) {
    const v = s.volumes[i];
    volumes.push(Json.object().set("name", v.name).set("path", v.path).set("size_gb", v.sizeGB).set("read_only", v.readOnly));
  }
  for (let i = 0; i < s.mounts.length; i++) {
    const m = s.mounts[i];
    mounts.push(Json.object().set("source", m.source).set("target", m.target).set("writable", m.writable));
  }
  const j = Json.object().set("key", s.key).set("owner", s.owner).set("name", s.name).set("labels", s.labels).set("command", s.command)
    .set("env", s.env).set("port", s.port).set("ports", s.ports).set("offer", s.offer).set("gpu", s.gpu).set("gpu_count", s.gpuCount)
    .set("cpu", s.cpu).set("memory_gb", s.memoryGB).set("disk_gb", s.diskGB).set("regions", s.regions).set("volumes", volumes)
    .set("isolation", s.isolation).set("network", s.network).set("network_hosts", s.networkHosts).set("mounts", mounts)
    .set("timeout_seconds", s.timeoutSeconds).set("end_unix", s.endUnix).set("options", s.options);
  if (image !== null) {
    j.set("image", Json.object().set("base", image.base).set("snapshot", image.snapshot).set("python_version", image.pythonVersion)
      .set("system_packages", image.systemPackages).set("python_packages", image.pythonPackages).set("commands", image.commands));
  }
  return j;
}

/** Sends what it was given to POST /v1/NAME. The server answers 200 and {"heard": NAME}. */
function tell(name: string, what: Json): void {
  const r = new Request("POST", setting("url") + "/v1/" + name);
  r.headers.set("Content-Type", "application/json");
  r.headers.set("Authorization", "mine");
  r.headers.set("X-Own", "kept");
  r.body = encodeText(what.toString());
  const answer = send(r), fault = answer.fault;
  if (fault !== null) giveUp(fault);
  const body = Json.parse(answer.text());
  if (answer.status != 200 || answer.header("X-Heard") != "yes" || body === null || body.str("heard") != name) {
    fail(Code.Internal, "the server answers " + answer.status.toString() + " " + answer.text());
  }
}

/** Sends 3 MiB, which is more than the host takes at once. */
function upload(): void {
  const r = new Request("POST", setting("url") + "/v1/upload");
  const body = new Uint8Array(3 << 20);
  for (let i = 0; i < body.length; i++) body[i] = <u8>(i % 251);
  r.body = body;
  const answer = send(r), fault = answer.fault;
  if (fault !== null) giveUp(fault);
  fail(Code.NotFound, "uploaded: " + answer.text());
}

/** Reads 3 MiB, which is more than may be on the way, over a redirect. */
function download(): void {
  const answer = send(new Request("GET", setting("url") + "/v1/download")), fault = answer.fault;
  if (fault !== null) giveUp(fault);
  let sum: u32 = 0;
  for (let i = 0; i < answer.body.length; i++) sum = sum * 31 + answer.body[i];
  fail(Code.NotFound, "downloaded: " + answer.body.length.toString() + " bytes, " + sum.toString());
}

/** Asks for what the manifest does not allow. */
function refused(): void {
  const asks = [["GET", "/closed"], ["DELETE", "/v1/x"], ["GET", "/v1/a/b"], ["GET", "/v1/deep/a/b"]];
  let all = "";
  for (let i = 0; i < asks.length; i++) {
    const answer = send(new Request(asks[i][0], setting("url") + asks[i][1])), fault = answer.fault;
    all += (fault === null ? answer.status.toString() : fault.code) + " ";
  }
  const elsewhere = send(new Request("GET", "https://elsewhere.example/v1/x")).fault;
  fail(Code.NotFound, all + (elsewhere === null ? "" : elsewhere.code));
}

/** Makes a gRPC call with an empty message both ways. */
function grpc(): void {
  const metadata = Json.object().set("x-own", ["kept"]);
  const reply = ask(grpc_open, Json.object().set("target", setting("url")).set("method", "/grpc.testing.TestService/EmptyCall")
    .set("metadata", metadata).set("timeout_seconds", 10));
  const fault = reply.fault;
  if (fault !== null) giveUp(fault);
  stream_send(reply.value.int("stream"), 0, 5); // data, of no bytes, and the end
  let kinds = "";
  while (true) {
    const block = take(stream_wait(1000));
    for (let at = 0; at < block.length;) {
      const size = load<i32>(block.dataStart + at);
      const event = Json.parse(String.UTF8.decodeUnsafe(block.dataStart + at + 4, size));
      if (event === null) return fail(Code.Internal, "an event is no JSON");
      at += 4 + size + <i32>event.int("n");
      kinds += event.str("k") + " ";
      if (event.str("k") == "end") return fail(Code.NotFound, kinds + event.int("code").toString() + event.str("message"));
    }
  }
}

function world(): void {
  const time = now(), a = random(16), b = random(16), r = Math.random(), date = Date.now();
  tell("world", Json.object().set("now", time).set("date", date).set("random", a.length == 32 && a != b && r >= 0 && r < 1));
}

function speak(): void {
  log.debug("to debug");
  log.info("to inform");
  log.warn("to warn: ä");
  console.log("to print");
}

function memory(): void {
  const kept: Uint8Array[] = [];
  while (kept.length < 1000) kept.push(new Uint8Array(1 << 20));
  fail(Code.Internal, "there is no end to the memory");
}

function v1(): V1 { return new V1(); }

export function provider_describe(): i32 { return provider.describe(v1()); }
export function provider_offers(): i32 { return provider.offers(v1()); }
export function provider_create(): i32 { return provider.create(v1()); }
export function provider_observe(): i32 { return provider.observe(v1()); }
export function provider_list(): i32 { return provider.list(v1()); }
export function provider_terminate(): i32 { return provider.terminate(v1()); }
export function provider_snapshot(): i32 { return provider.snapshot(v1()); }
