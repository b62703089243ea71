// What a person can do at a sign-in, whoever has built its pages; see every-way.test.ts.
import type { IDToken } from "openid-client"
import { contentOf } from "../../src/domain/message/content.ts"
import { message } from "../../src/domain/message/index.ts"
import type { browserOf, Provider } from "../oauth/provider.ts"
import type { Authenticator } from "./authenticator.ts"
import type { Kept } from "./custom-login.ts"

/** What the pages want next; "nothing": the application has its answer. */
export type Asks =
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

/** One browser of a person; `kept` is what a page of somebody else has in its cookie. */
export type Seat = { readonly browser: ReturnType<typeof browserOf>; readonly kept: Kept[] }

export type CodeKind = "otp" | "otp_email" | "otp_sms" | "recovery_codes"

type Reading = () => string | Promise<string>

/** One sign-in on its way from an application. */
export type Visit = {
  readonly asks: () => Asks
  /** Whether the last thing that was given was refused. */
  readonly isRefused: () => boolean
  readonly name: (loginName: string) => Promise<void>
  readonly password: (plain: string) => Promise<void>
  /** Goes on as somebody else than who is asked. */
  readonly other: () => Promise<void>
  /** Has a code sent, where it is one of those, and gives the one that is read then. */
  readonly code: (of: CodeKind, read: Reading) => Promise<void>
  /** Uses a key beside what was proved. */
  readonly key: (key: Authenticator) => Promise<void>
  /** Uses a passkey on the first page, which says who it is. */
  readonly passkey: (key: Authenticator) => Promise<void>
  /** Sets up an authenticator app; `read` makes a code of its secret. */
  readonly setUpApp: (read: (secret: string, late?: number) => string) => Promise<void>
  readonly setUpPasskey: () => Promise<Authenticator>
  readonly newPassword: (typed: { readonly old: string; readonly own: string }) => Promise<void>
  /** Asks for a code by mail instead of the password, and gives the one that is read then. */
  readonly mailed: (read: Reading) => Promise<void>
  readonly register: (person: { readonly name: string; readonly email: string }) => Promise<void>
  /** The code of the mail to who registers; without a word the right one. */
  readonly confirm: (code?: string) => Promise<void>
  /** What whoever registers wants to sign in with. */
  readonly begin: (password: string) => Promise<void>
  readonly choose: (loginName: string) => Promise<void>
  /** What the application learns; rejects with the error that it is told. */
  readonly end: () => Promise<IDToken>
}

export type Face = {
  readonly begin: (seat: Seat, asked?: Readonly<Record<string, string>>) => Promise<Visit>
  /** Sets another password for whoever has forgotten theirs. */
  readonly reset: (seat: Seat, whose: Whose & { readonly own: string }) => Promise<void>
  /** Follows the link of an invitation, and is signed in by the password that is chosen there. */
  readonly invited: (
    seat: Seat,
    whose: Whose & { readonly code: string; readonly own: string },
  ) => Promise<void>
  /** Lets a device in by the code that it shows. */
  readonly device: (
    seat: Seat,
    by: { readonly userCode: string; readonly name: string; readonly password: string },
  ) => Promise<void>
}

export type Whose = { readonly name: string; readonly userId: string }

/** The code of the newest message. */
export async function newestCode(provider: Provider): Promise<string> {
  const { events } = await provider.store.log.find(0, 100_000, ["message.added"])
  const cx = provider.cx()
  const content = contentOf(cx, provider.store.state(cx, message, events.at(-1)?.id ?? ""))
  if ("over" in content) throw new Error(content.over)
  return content.code || decodeURIComponent(content.link.split("#")[1] ?? "")
}
