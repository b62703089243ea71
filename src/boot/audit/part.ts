import * as z from "zod/mini"

/** What the server is asked for that writes events down, sealed. */
export const exportAsked = z.lazy(() =>
  z.strictObject({
    /** The id of an instance, where there are several. */
    instance: z.optional(z.string()),
    /** The last seal of the file; without one a file begins. */
    seal: z.optional(z.string()),
    /** Where a file begins: behind this position. */
    after: z.optional(z.int().check(z.minimum(0))),
  }),
)
export type ExportAsked = Readonly<z.output<typeof exportAsked>>

/** Whole lines, the last of which is a seal; none where nothing has happened since. */
export const exportPart = z.lazy(() =>
  z.object({ lines: z.array(z.string()), isMore: z.boolean() }),
)
export type ExportPart = Readonly<z.output<typeof exportPart>>

/**
 * Where a collector stands: the seal that it took last, or the position behind which its lines
 * begin; and the seal of what it is being sent.
 */
export const collectorNote = z.lazy(() =>
  z.object({
    seal: z.optional(z.string()),
    after: z.optional(z.int()),
    pending: z.optional(z.string()),
  }),
)
export type CollectorNote = Readonly<z.output<typeof collectorNote>>

/** A public key as the server tells it. */
export const publicKey = z.lazy(() =>
  z.object({
    crv: z.literal("Ed25519"),
    kty: z.literal("OKP"),
    x: z.string(),
  }),
)
