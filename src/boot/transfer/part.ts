import * as z from "zod/mini"

/** What an export is asked for; with a session it goes on where that one is. */
export const exportAsked = z.lazy(() =>
  z.strictObject({
    session: z.optional(z.string()),
    /** The id of an instance, where there are several. */
    instance: z.optional(z.string()),
    /** All where it is empty. */
    orgIds: z.array(z.string()),
    withPasswords: z.boolean(),
    withOtp: z.boolean(),
    withSecrets: z.boolean(),
  }),
)
export type ExportAsked = Readonly<z.output<typeof exportAsked>>

/** A part of an export: whole lines, each an organisation in JSON with one thing in it. */
export const exportPart = z.lazy(() =>
  z.object({
    lines: z.array(z.string()),
    /** Absent where this is the last part. */
    session: z.optional(z.string()),
  }),
)
export type ExportPart = Readonly<z.output<typeof exportPart>>

/** A part of an import; with a session it belongs to those before. */
export const importAsked = z.lazy(() =>
  z.strictObject({
    session: z.optional(z.string()),
    instance: z.optional(z.string()),
    dryRun: z.boolean(),
    /** Lines of the file, or what is left of them, each with its number in it. */
    lines: z.array(z.object({ number: z.int(), text: z.string() })),
    isLast: z.boolean(),
  }),
)
export type ImportAsked = Readonly<z.output<typeof importAsked>>

const refused = z.lazy(() =>
  z.object({
    /** The field of the organisation; "line" for what could not be read at all. */
    type: z.string(),
    orgId: z.string(),
    id: z.string(),
    message: z.string(),
  }),
)
export type Refused = Readonly<z.output<typeof refused>>

/** What became of a part. */
export const importPart = z.lazy(() =>
  z.object({
    session: z.string(),
    taken: z.int(),
    refused: z.array(refused),
  }),
)
export type ImportPart = Readonly<z.output<typeof importPart>>

/** Whoever has the store: the server that runs, or this process. */
export type Carrier = {
  readonly tell: (asked: ExportAsked) => Promise<ExportPart>
  readonly take: (asked: ImportAsked) => Promise<ImportPart>
}
