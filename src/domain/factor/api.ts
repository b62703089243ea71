import { selfFactors } from "./binding/v1.ts"
import { v2factor } from "./binding/v2.ts"

/** The operations that this module answers. */
export const shares = [v2factor, selfFactors] as const
