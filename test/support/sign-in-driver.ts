// The actions of a user during a sign-in, for any implementation of the pages; see
// sign-in-methods.test.ts.
import type { IDToken } from "openid-client"
import { contentOf } from "../../src/domain/message/content.ts"
import { message } from "../../src/domain/message/index.ts"
import type { browserOf, Provider } from "../oauth/provider.ts"
import type { Authenticator } from "./authenticator.ts"
import type { StoredSession } from "./custom-login-page.ts"

/** The next step of the pages; "nothing": the application has its response. */
export type SignInStep =
  | "login name"
  | "password"
  | "factor"
  | "set up"
  | "new password"
  | "account"
  | "code"
  | "credential"
  | "choice"
  | "nothing"

/** A user's browser; `kept` is the session cookie of a custom login page. */
export type BrowserState = {
  readonly browser: ReturnType<typeof browserOf>
  readonly kept: StoredSession[]
}

export type CodeKind = "otp" | "otp_email" | "otp_sms" | "recovery_codes"

type ReadCode = () => string | Promise<string>

/** A sign-in started by an application. */
export type SignInAttempt = {
  readonly asks: () => SignInStep
  /** Whether the last input was rejected. */
  readonly isRefused: () => boolean
  readonly name: (loginName: string) => Promise<void>
  readonly password: (plain: string) => Promise<void>
  /** Continues as another user. */
  readonly other: () => Promise<void>
  /** Requests a code if it must be sent, and enters the one that `read` returns. */
  readonly code: (of: CodeKind, read: ReadCode) => Promise<void>
  /** Uses a security key as a second factor. */
  readonly key: (key: Authenticator) => Promise<void>
  /** Uses a passkey on the first page, which identifies the user. */
  readonly passkey: (key: Authenticator) => Promise<void>
  /** Sets up an authenticator app; `read` computes a code from its secret. */
  readonly setUpApp: (read: (secret: string, late?: number) => string) => Promise<void>
  readonly setUpPasskey: () => Promise<Authenticator>
  readonly newPassword: (typed: { readonly old: string; readonly own: string }) => Promise<void>
  /** Requests a code by email instead of the password, and enters the one that `read` returns. */
  readonly mailed: (read: ReadCode) => Promise<void>
  readonly register: (person: { readonly name: string; readonly email: string }) => Promise<void>
  /** Enters the emailed registration code; by default the right one. */
  readonly confirm: (code?: string) => Promise<void>
  /** Sets the password of the new account. */
  readonly begin: (password: string) => Promise<void>
  readonly choose: (loginName: string) => Promise<void>
  /** Returns the claims that the application receives; rejects with its error. */
  readonly end: () => Promise<IDToken>
}

export type SignInDriver = {
  readonly begin: (
    state: BrowserState,
    parameters?: Readonly<Record<string, string>>,
  ) => Promise<SignInAttempt>
  /** Resets a forgotten password. */
  readonly reset: (state: BrowserState, user: UserRef & { readonly own: string }) => Promise<void>
  /** Opens an invitation, and signs in with the password that is set there. */
  readonly invited: (
    state: BrowserState,
    user: UserRef & { readonly code: string; readonly own: string },
  ) => Promise<void>
  /** Authorizes a device by its code. */
  readonly device: (
    state: BrowserState,
    by: { readonly userCode: string; readonly name: string; readonly password: string },
  ) => Promise<void>
}

export type UserRef = { readonly name: string; readonly userId: string }

/** The code of the newest message. */
export async function newestCode(provider: Provider): Promise<string> {
  const { events } = await provider.store.log.find(0, 100_000, ["message.added"])
  const cx = provider.cx()
  const content = contentOf(cx, provider.store.state(cx, message, events.at(-1)?.id ?? ""))
  if ("over" in content) throw new Error(content.over)
  return content.code || decodeURIComponent(content.link.split("#")[1] ?? "")
}
