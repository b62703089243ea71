import * as z from "zod/mini"

/** Also what comes in through the control socket. */
export const instanceRequest = z.lazy(() => z.strictObject({ instance: z.string() }))

export const instanceList = z.lazy(() =>
  z.array(z.object({ id: z.string(), publicUrl: z.string() })),
)

/** What a self-check signs in with, and how the pages ask for it. */
export const temporaryUser = z.lazy(() =>
  z.object({
    instance: z.string(),
    /** Of the user and of the application. */
    id: z.string(),
    publicUrl: z.string(),
    password: z.string(),
    /** The key of an authenticator app, in base64url, where the policy forces a second factor. */
    totpKey: z.optional(z.string()),
    clientId: z.string(),
    clientSecret: z.string(),
    redirectUri: z.string(),
    /** The value of the header that its requests have. */
    token: z.string(),
  }),
)
export type TemporaryUser = Readonly<z.output<typeof temporaryUser>>

/** Nobody can sign in with a password: why. */
export const notTried = z.lazy(() => z.object({ notTried: z.string() }))

export const beginAnswer = z.lazy(() => z.union([temporaryUser, notTried]))

export const endRequest = z.lazy(() => z.strictObject({ instance: z.string(), id: z.string() }))

/** What is still there of it after its removal; empty where nothing is. */
export const endAnswer = z.lazy(() => z.object({ left: z.array(z.string()) }))

export const mailRequest = z.lazy(() =>
  z.strictObject({ instance: z.string(), to: z.optional(z.string()) }),
)

/** What became of a try of the mail server; null where there is no provider. */
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

/** How a request of the sign-in reaches the server. */
export type Send = (url: string, init: RequestInit) => Promise<Response>

/** Whoever has the store: the server that runs, or this process. */
export type Checker = {
  readonly instances: () => Promise<readonly { readonly id: string; readonly publicUrl: string }[]>
  readonly begin: (instance: string) => Promise<z.output<typeof beginAnswer>>
  readonly end: (instance: string, id: string) => Promise<z.output<typeof endAnswer>>
  readonly mail: (instance: string, to: string | undefined) => Promise<MailAnswer>
  readonly send: Send
  /** Whether requests go by the public address, and not straight to this process. */
  readonly isPublic: boolean
  /** Whether the header arrives by the public address; undefined where no request does. */
  readonly passesHeader: (publicUrl: string, token: string) => Promise<boolean | undefined>
  /** Whether nodes of another version answer, too. */
  readonly hasOtherVersions: () => Promise<boolean>
}
