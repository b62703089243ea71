import type { Outside } from "../../src/kernel/net/outbound.ts"

const nobody = () => Promise.reject(new Error("nobody answers"))

/** A world outside in which nobody answers. */
export const nowhere: Outside = {
  ...{ send: nobody, reach: nobody, texts: nobody, mail: nobody },
  directories: { find: nobody, prove: nobody },
}
