import { ask } from "./ask";
import { giveUp } from "./fail";
import { Json } from "./json";

// @ts-ignore: decorator
@external("extism:host/user", "settings")
declare function host_settings(block: u64): u64;

/** The values of the settings that the manifest names. */
export function settings(): Map<string, string> {
  const reply = ask(host_settings, Json.object());
  const fault = reply.fault;
  if (fault !== null) giveUp(fault);
  return reply.value.texts();
}

/** One of them; one that the manifest does not name is empty. */
export function setting(name: string): string {
  const all = settings();
  return all.has(name) ? all.get(name) : "";
}
