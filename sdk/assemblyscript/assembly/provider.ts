// The types of contract provider/1. Each field is documented in sdk/provider.go.

import { Code, fail } from "./fail";
import { Json } from "./json";

/** Optional abilities, for ProviderInfo.features. */
export namespace Feature {
  export const Build: string = "build";
  export const Tags: string = "tags";
  export const Volumes: string = "volumes";
  export const Snapshot: string = "snapshot";
  export const SelfEnd: string = "self_end";
  export const IdleTimeout: string = "idle_timeout";
  export const HostMounts: string = "host_mounts";
}

/** Where a machine is in its life. */
export namespace State {
  export const Pending: string = "pending";
  export const Building: string = "building";
  export const Starting: string = "starting";
  export const Running: string = "running";
  export const Stopped: string = "stopped";
  export const Failed: string = "failed";
}

/** One way of keeping a machine apart from its neighbours. */
export class Isolation {
  constructor(public name: string, public usable: bool = true, public reason: string = "") {}
  toJson(): Json { return Json.object().set("name", this.name).set("usable", this.usable).opt("reason", this.reason); }
}

/** Describes a backend. */
export class ProviderInfo {
  features: string[] = [];
  gpus: string[] = [];
  isolations: Isolation[] = [];
  pollSeconds: f64 = 0;
  maxTimeoutSeconds: i64 = 0;

  /** name: one of the manifest's provides; title: for people. */
  constructor(public name: string, public title: string) {}

  toJson(): Json {
    const isolations = Json.list();
    for (let i = 0; i < this.isolations.length; i++) isolations.push(this.isolations[i].toJson());
    return Json.object().set("name", this.name).set("title", this.title).opt("features", this.features).opt("gpus", this.gpus)
      .opt("isolations", isolations).opt("poll_seconds", this.pollSeconds).opt("max_timeout_seconds", this.maxTimeoutSeconds);
  }
}

/** Narrows what offers are wanted. Zero fields, but gpu, do not narrow. */
export class OfferQuery {
  gpu: string;
  gpuCount: i32;
  cpu: f64;
  memoryGB: f64;
  diskGB: i32;
  regions: string[];
  /** The user's provider_options; null where there are none. */
  options: Json;

  constructor(j: Json) {
    this.gpu = j.str("gpu");
    this.gpuCount = <i32>j.int("gpu_count");
    this.cpu = j.num("cpu");
    this.memoryGB = j.num("memory_gb");
    this.diskGB = <i32>j.int("disk_gb");
    this.regions = j.get("regions").strings();
    this.options = j.get("options");
  }
}

/** Something that can be rented now. */
export class Offer {
  gpu: string = "";
  gpuCount: i32 = 0;
  gpuMemoryGB: f64 = 0;
  memoryGB: f64 = 0;
  region: string = "";
  /** none, low, medium, high or "" = unknown. */
  stock: string = "";

  /** id: the backend's own name; costPerHour: US dollars, of the whole machine. */
  constructor(public id: string, public costPerHour: f64) {}

  toJson(): Json {
    return Json.object().set("id", this.id).opt("gpu", this.gpu).opt("gpu_count", this.gpuCount).opt("gpu_memory_gb", this.gpuMemoryGB)
      .opt("memory_gb", this.memoryGB).opt("region", this.region).set("cost_per_hour", this.costPerHour).opt("stock", this.stock);
  }
}

/** A disk that outlives machines. */
export class Volume {
  name: string;
  path: string;
  sizeGB: i32;
  readOnly: bool;

  constructor(j: Json) {
    this.name = j.str("name");
    this.path = j.str("path");
    this.sizeGB = <i32>j.int("size_gb");
    this.readOnly = j.yes("read_only");
  }
}

/** The file system a machine starts from. */
export class Image {
  base: string;
  snapshot: string;
  pythonVersion: string;
  systemPackages: string[];
  pythonPackages: string[];
  commands: string[];

  constructor(j: Json) {
    this.base = j.str("base");
    this.snapshot = j.str("snapshot");
    this.pythonVersion = j.str("python_version");
    this.systemPackages = j.get("system_packages").strings();
    this.pythonPackages = j.get("python_packages").strings();
    this.commands = j.get("commands").strings();
  }
}

/** A folder or file of the user's computer inside a machine. */
export class Mount {
  source: string;
  target: string;
  writable: bool;

  constructor(j: Json) {
    this.source = j.str("source");
    this.target = j.str("target");
    this.writable = j.yes("writable");
  }
}

/** What to rent. One key, one machine. */
export class MachineSpec {
  key: string;
  owner: string;
  name: string;
  labels: Map<string, string>;
  command: string[];
  env: Map<string, string>;
  port: i32;
  ports: i32[] = [];
  offer: string;
  gpu: string;
  gpuCount: i32;
  cpu: f64;
  memoryGB: f64;
  diskGB: i32;
  regions: string[];
  volumes: Volume[] = [];
  /** null = a plain Linux with Python 3. */
  image: Image | null = null;
  isolation: string;
  network: string;
  networkHosts: string[];
  mounts: Mount[] = [];
  timeoutSeconds: i64;
  endUnix: i64;
  /** The user's provider_options; null where there are none. */
  options: Json;

  constructor(j: Json) {
    this.key = j.str("key");
    this.owner = j.str("owner");
    this.name = j.str("name");
    this.labels = j.get("labels").texts();
    this.command = j.get("command").strings();
    this.env = j.get("env").texts();
    this.port = <i32>j.int("port");
    this.offer = j.str("offer");
    this.gpu = j.str("gpu");
    this.gpuCount = <i32>j.int("gpu_count");
    this.cpu = j.num("cpu");
    this.memoryGB = j.num("memory_gb");
    this.diskGB = <i32>j.int("disk_gb");
    this.regions = j.get("regions").strings();
    this.isolation = j.str("isolation");
    this.network = j.str("network");
    this.networkHosts = j.get("network_hosts").strings();
    this.timeoutSeconds = j.int("timeout_seconds");
    this.endUnix = j.int("end_unix");
    this.options = j.get("options");
    const ports = j.get("ports").list(), volumes = j.get("volumes").list(), mounts = j.get("mounts").list();
    for (let i = 0; i < ports.length; i++) this.ports.push(<i32>ports[i].integer());
    for (let i = 0; i < volumes.length; i++) this.volumes.push(new Volume(volumes[i]));
    for (let i = 0; i < mounts.length; i++) this.mounts.push(new Mount(mounts[i]));
    if (!j.get("image").isNull) this.image = new Image(j.get("image"));
  }

  /** What to ask the offers for, where the user has chosen none. */
  query(): OfferQuery {
    const q = new OfferQuery(Json.object());
    q.gpu = this.gpu;
    q.gpuCount = this.gpuCount;
    q.cpu = this.cpu;
    q.memoryGB = this.memoryGB;
    q.diskGB = this.diskGB;
    q.regions = this.regions;
    q.options = this.options;
    return q;
  }

  /**
   * Ends the call as unsupported where the spec asks for what the backend does not
   * have: nothing may be left out in silence. can: what it does have, of disk, ports,
   * base, snapshot, python, build, volumes, mounts, network and isolation.
   */
  refuseAllBut(can: string[], backend: string): void {
    const image = this.image;
    refuse(this.diskGB > 0, "disk", "disks of a chosen size", can, backend);
    refuse(this.ports.length > 0, "ports", "further ports", can, backend);
    if (image !== null) {
      refuse(image.base != "", "base", "images to choose", can, backend);
      refuse(image.snapshot != "", "snapshot", "snapshots", can, backend);
      refuse(image.pythonVersion != "", "python", "versions of Python to choose", can, backend);
      refuse(image.systemPackages.length + image.pythonPackages.length + image.commands.length > 0, "build", "building of images", can, backend);
    }
    refuse(this.volumes.length > 0, "volumes", "volumes", can, backend);
    refuse(this.mounts.length > 0, "mounts", "folders of your computer", can, backend);
    refuse(this.network != "" && this.network != "open", "network", "closed networks", can, backend);
    refuse(this.isolation != "" && this.isolation != "auto", "isolation", "kinds of isolation to choose", can, backend);
  }
}

function refuse(asked: bool, name: string, what: string, can: string[], backend: string): void {
  if (asked && !can.includes(name)) fail(Code.Unsupported, backend + " has no " + what + "; leave it out of the experiment");
}

/** The outcome of one create: a handle, or a cursor to come back with. */
export class CreateStep {
  handle: string = "";
  cursor: Json = Json.nothing();
  log: string[] = [];
  afterSeconds: f64 = 0;

  /** The machine is rented. */
  static done(handle: string): CreateStep {
    const s = new CreateStep();
    s.handle = handle;
    return s;
  }

  /** Call again with this cursor, not before so many seconds. */
  static again(cursor: Json, afterSeconds: f64 = 0): CreateStep {
    const s = new CreateStep();
    s.cursor = cursor;
    s.afterSeconds = afterSeconds;
    return s;
  }

  toJson(): Json { return step("handle", this.handle, this.cursor, this.log, this.afterSeconds); }
}

/** The outcome of one snapshot: an image, or a cursor to come back with. */
export class SnapshotStep {
  image: string = "";
  cursor: Json = Json.nothing();
  log: string[] = [];
  afterSeconds: f64 = 0;

  toJson(): Json { return step("image", this.image, this.cursor, this.log, this.afterSeconds); }
}

function step(name: string, result: string, cursor: Json, log: string[], after: f64): Json {
  const j = Json.object().opt(name, result);
  if (!cursor.isNull) j.set("cursor", cursor); // also one that is 0 or ""
  return j.opt("log", log).opt("after_seconds", after);
}

/** Where a port of a machine is reached from the user's computer. */
export class Endpoint {
  constructor(public port: i32, public url: string) {}
  toJson(): Json { return Json.object().set("port", this.port).set("url", this.url); }
}

/** The present state of one machine. */
export class Observation {
  message: string = "";
  /** Of one that failed: no_capacity lets Seer take the next choice. */
  code: string = "";
  endpoints: Endpoint[] = [];
  costPerHour: f64 = 0;
  isolation: string = "";

  constructor(public handle: string, public state: string) {}

  toJson(): Json {
    const endpoints = Json.list();
    for (let i = 0; i < this.endpoints.length; i++) endpoints.push(this.endpoints[i].toJson());
    return Json.object().set("handle", this.handle).set("state", this.state).opt("message", this.message).opt("code", this.code)
      .opt("endpoints", endpoints).opt("cost_per_hour", this.costPerHour).opt("isolation", this.isolation);
  }
}

/** A machine found by list. */
export class Listed {
  /** Of the spec; 0 = unknown. */
  endUnix: i64 = 0;

  constructor(public handle: string, public key: string, public owner: string, public state: string) {}

  toJson(): Json {
    return Json.object().set("handle", this.handle).set("key", this.key).set("owner", this.owner).set("state", this.state)
      .opt("end_unix", this.endUnix);
  }
}

/** Rents machines and nothing else. docs/plugins/contract.md says what each must keep. */
export abstract class Provider {
  /** What the backend can do. No request, no credential. */
  abstract describe(): ProviderInfo;
  /** What can be rented now, cheapest first. */
  abstract offers(query: OfferQuery): Offer[];
  /** Makes progress towards a machine: one key, one machine. The first cursor is null. */
  abstract create(spec: MachineSpec, cursor: Json): CreateStep;
  /** The state of each handle; one that is not known is stopped. */
  abstract observe(handles: string[]): Observation[];
  /** The machines of an owner that still exist. */
  abstract list(owner: string): Listed[];
  /** Ends a machine and all it bills for; one that is not known is done. */
  abstract terminate(handle: string): void;
  /** Makes progress towards a copy of a file system; only with the feature snapshot. */
  snapshot(handle: string, key: string, cursor: Json): SnapshotStep {
    fail(Code.Unsupported, "this backend makes no snapshots");
    return new SnapshotStep();
  }
}
