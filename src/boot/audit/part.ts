import * as z from "zod/mini"

/** A request for the next sealed part of the events. */
export const exportRequest = z.lazy(() =>
  z.strictObject({
    /** The ID of the instance, if there are several. */
    instance: z.optional(z.string()),
    /** The last seal of the file; without it, a new file starts. */
    seal: z.optional(z.string()),
    /** A new file starts after this position. */
    after: z.optional(z.int().check(z.minimum(0))),
  }),
)
export type ExportRequest = Readonly<z.output<typeof exportRequest>>

/** Complete lines, the last of which is a seal; empty if there are no new events. */
export const exportPart = z.lazy(() =>
  z.object({ lines: z.array(z.string()), isMore: z.boolean() }),
)
export type ExportPart = Readonly<z.output<typeof exportPart>>

/**
 * The progress of a collector: the last seal it confirmed, or the position after which its lines
 * start, and the seal of the part that is being sent.
 */
export const collectorProgress = z.lazy(() =>
  z.object({
    seal: z.optional(z.string()),
    after: z.optional(z.int()),
    pending: z.optional(z.string()),
  }),
)
export type CollectorProgress = Readonly<z.output<typeof collectorProgress>>

/** A public key as the server returns it. */
export const publicKey = z.lazy(() =>
  z.object({
    crv: z.literal("Ed25519"),
    kty: z.literal("OKP"),
    x: z.string(),
  }),
)
