import { lazily } from "../kernel/lazy.ts"

/**
 * What checks, signs and encrypts by the JOSE standards (RFC 7515 to 7519): a start does without,
 * and what only reads, which is small, is imported where it is used.
 */
export const jose = lazily(() => import("jose"))
