import type { Outside } from "../../src/kernel/port/outbound.ts"

const nobody = () => Promise.reject(new Error("nobody answers"))

/** A world outside in which nobody answers. */
export const nowhere: Outside = {
  send: nobody,
  texts: nobody,
  mail: nobody,
  reach: async () => "unknown_host",
  directories: { find: nobody, prove: nobody },
}
