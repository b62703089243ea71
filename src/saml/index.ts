export { answering, onward } from "./answering.ts"
export { samlHandler } from "./handler.ts"

/** What SAML is to the whole. */
export const module = {
  operations: () => import("./api.ts"),
} as const
