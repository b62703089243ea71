import * as z from "zod/mini"

/** A request for an export; with a session, it continues that export. */
export const exportRequest = z.lazy(() =>
  z.strictObject({
    session: z.optional(z.string()),
    /** The ID of the instance, if there are several. */
    instance: z.optional(z.string()),
    /** All organizations if empty. */
    orgIds: z.array(z.string()),
    withPasswords: z.boolean(),
    withOtp: z.boolean(),
    withSecrets: z.boolean(),
  }),
)
export type ExportRequest = Readonly<z.output<typeof exportRequest>>

/** A part of an export: complete lines, each an organization in JSON with one item. */
export const exportResponse = z.lazy(() =>
  z.object({
    lines: z.array(z.string()),
    /** Absent in the last part. */
    session: z.optional(z.string()),
  }),
)
export type ExportResponse = Readonly<z.output<typeof exportResponse>>

/** A part of an import; with a session, it continues that import. */
export const importRequest = z.lazy(() =>
  z.strictObject({
    session: z.optional(z.string()),
    instance: z.optional(z.string()),
    dryRun: z.boolean(),
    /** Lines of the file, or the unprocessed rest of them, with their line numbers. */
    lines: z.array(z.object({ number: z.int(), text: z.string() })),
    isLast: z.boolean(),
  }),
)
export type ImportRequest = Readonly<z.output<typeof importRequest>>

const rejectedItem = z.lazy(() =>
  z.object({
    /** The field of the organization; "line" for a line that could not be parsed. */
    type: z.string(),
    orgId: z.string(),
    id: z.string(),
    message: z.string(),
  }),
)
export type RejectedItem = Readonly<z.output<typeof rejectedItem>>

/** The result of a part. */
export const importResponse = z.lazy(() =>
  z.object({
    session: z.string(),
    taken: z.int(),
    refused: z.array(rejectedItem),
  }),
)
export type ImportResponse = Readonly<z.output<typeof importResponse>>

/** Access to the store: through the running server, or in this process. */
export type OrganizationTransfer = {
  readonly tell: (request: ExportRequest) => Promise<ExportResponse>
  readonly take: (request: ImportRequest) => Promise<ImportResponse>
}
