export { findMachine, findMachineByName, serviceUserKey } from "./find.ts"
export { isMachineSecret } from "./machine-secret.ts"
export { addPersonalToken, isPersonalToken, readPersonalToken } from "./personal-token.ts"
export { addServiceKey, createServiceKey } from "./service-key.ts"

/** What this module is to the whole. */
export const module = { operations: () => import("./api.ts") } as const
