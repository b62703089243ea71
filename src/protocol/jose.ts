import { loadOnce } from "../kernel/lazy.ts"

/**
 * The JOSE library (RFC 7515 to 7519) for verification, signing and encryption, loaded on demand,
 * because a start does not need it. The small decoding functions are imported directly.
 */
export const loadJose = loadOnce(() => import("jose"))
