export { findMachine, findMachineByName, findServiceKey } from "./find.ts"
export { isMachineSecret } from "./machine-secret.ts"
export { addPersonalToken, isPersonalToken, parsePersonalToken } from "./personal-token.ts"
export { addServiceKey, createServiceKey } from "./service-key.ts"

/** Parts of this module that the server loads. */
export const module = { operations: () => import("./api.ts") } as const
