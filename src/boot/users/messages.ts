import * as z from "zod/mini"
import { userSchema } from "./user.ts"

/** A part of an import of users; with a session, it continues that import. */
export const userImportRequest = z.lazy(() =>
  z.strictObject({
    session: z.optional(z.string()),
    /** The ID of the instance, if there are several. */
    instance: z.optional(z.string()),
    /** The organization of the users; by default the organization of the instance. */
    orgId: z.optional(z.string()),
    /** The project that contains their roles. */
    projectId: z.optional(z.string()),
    dryRun: z.boolean(),
    people: z.array(userSchema),
    isLast: z.boolean(),
  }),
)
export type UserImportRequest = Readonly<z.output<typeof userImportRequest>>

/** The result for each user of a part, in the same order. */
const userResult = z.lazy(() =>
  z.union([
    z.object({ became: z.enum(["taken", "there"]) }),
    /** The ID and the message of the fault. */
    z.object({ became: z.literal("refused"), id: z.string(), message: z.string() }),
  ]),
)
export type UserResult = Readonly<z.output<typeof userResult>>

export const userImportResponse = z.lazy(() =>
  z.object({ session: z.string(), outcomes: z.array(userResult) }),
)
export type UserImportResponse = Readonly<z.output<typeof userImportResponse>>

/** A request for an export of users; with a session, it continues that export. */
export const userExportRequest = z.lazy(() =>
  z.strictObject({
    session: z.optional(z.string()),
    instance: z.optional(z.string()),
    orgId: z.optional(z.string()),
    projectId: z.optional(z.string()),
    withPasswords: z.boolean(),
    withOtp: z.boolean(),
  }),
)
export type UserExportRequest = Readonly<z.output<typeof userExportRequest>>

/** A part of an export; the last one has no session. */
export const userExportResponse = z.lazy(() =>
  z.object({ people: z.array(userSchema), session: z.optional(z.string()) }),
)
export type UserExportResponse = Readonly<z.output<typeof userExportResponse>>

/**
 * A request to confirm email addresses for the whole instance, for all users or those of one
 * organization.
 */
export const confirmRequest = z.lazy(() =>
  z.strictObject({
    instance: z.optional(z.string()),
    orgId: z.optional(z.string()),
    dryRun: z.boolean(),
  }),
)
export type ConfirmRequest = Readonly<z.output<typeof confirmRequest>>

export const confirmResponse = z.lazy(() =>
  z.object({
    confirmed: z.number(),
    /** The IDs of the first users. */
    userIds: z._default(z.array(z.string()), []),
    /** The number of users who share their email address with others. */
    skipped: z._default(z.number(), 0),
  }),
)
export type ConfirmResponse = Readonly<z.output<typeof confirmResponse>>

/** Access to the store: through the running server, or in this process. */
export type UserTransfer = {
  readonly takePeople: (request: UserImportRequest) => Promise<UserImportResponse>
  readonly tellPeople: (request: UserExportRequest) => Promise<UserExportResponse>
  readonly confirmEmails: (request: ConfirmRequest) => Promise<ConfirmResponse>
}
