import { v2 } from "./binding/v2.ts"

/** What is answered of the book for applications that speak SAML. */
export const shares = [v2] as const
