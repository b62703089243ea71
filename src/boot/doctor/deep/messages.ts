import * as z from "zod/mini"

/** Also sent over the control socket. */
export const instanceRequest = z.lazy(() => z.strictObject({ instance: z.string() }))

export const instanceList = z.lazy(() =>
  z.array(z.object({ id: z.string(), publicUrl: z.string() })),
)

/** The temporary user of a self-check and what the sign-in pages require. */
export const temporaryUser = z.lazy(() =>
  z.object({
    instance: z.string(),
    /** The ID of both the user and the application. */
    id: z.string(),
    publicUrl: z.string(),
    password: z.string(),
    /** The TOTP key in base64url if the policy requires a second factor. */
    totpKey: z.optional(z.string()),
    clientId: z.string(),
    clientSecret: z.string(),
    redirectUri: z.string(),
    /** The value of the header of self-check requests. */
    token: z.string(),
  }),
)
export type TemporaryUser = Readonly<z.output<typeof temporaryUser>>

/** Why the sign-in with a password can't be tested. */
export const notTried = z.lazy(() => z.object({ notTried: z.string() }))

export const beginAnswer = z.lazy(() => z.union([temporaryUser, notTried]))

export const endRequest = z.lazy(() => z.strictObject({ instance: z.string(), id: z.string() }))

/** The temporary data that could not be deleted; empty if all was deleted. */
export const endAnswer = z.lazy(() => z.object({ left: z.array(z.string()) }))

export const mailRequest = z.lazy(() =>
  z.strictObject({ instance: z.string(), to: z.optional(z.string()) }),
)

/** The result of a test of the mail server; null without a provider. */
export const mailAnswer = z.lazy(() =>
  z.nullable(
    z.object({
      kind: z.string(),
      done: z.boolean(),
      isSent: z.boolean(),
      steps: z.array(z.object({ name: z.string(), detail: z.string() })),
      reason: z.string(),
    }),
  ),
)
export type MailAnswer = z.output<typeof mailAnswer>

/** Sends a request of the sign-in to the server. */
export type Send = (url: string, init: RequestInit) => Promise<Response>

/** Access to the store: through the running server, or in this process. */
export type Checker = {
  readonly instances: () => Promise<readonly { readonly id: string; readonly publicUrl: string }[]>
  readonly begin: (instance: string) => Promise<z.output<typeof beginAnswer>>
  readonly end: (instance: string, id: string) => Promise<z.output<typeof endAnswer>>
  readonly mail: (instance: string, to: string | undefined) => Promise<MailAnswer>
  readonly send: Send
  /** Whether requests use the public URL instead of going directly to this process. */
  readonly isPublic: boolean
  /** Whether the header arrives through the public URL; undefined if requests don't arrive. */
  readonly passesHeader: (publicUrl: string, token: string) => Promise<boolean | undefined>
  /** Whether nodes with another version also handle requests. */
  readonly hasOtherVersions: () => Promise<boolean>
}
