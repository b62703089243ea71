import type { Outside } from "../../src/kernel/port/outbound.ts"

const rejectUnreachable = () => Promise.reject(new Error("no response"))

/** An outside without any reachable service. */
export const unreachableOutside: Outside = {
  send: rejectUnreachable,
  txtRecords: rejectUnreachable,
  mail: rejectUnreachable,
  reach: async () => "unknown_host",
  directories: { find: rejectUnreachable, authenticate: rejectUnreachable },
}
