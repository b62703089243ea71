import type { Cx } from "../../store/index.ts"
import { urlTemplateOf } from "./field.ts"

/** A verification code, sealed for the mail that carries it, or also returned to the caller. */
export type NewCode = {
  readonly plain: string
  readonly sealed: string
  readonly expires: number
  readonly returned: boolean
  /** The link that the mail carries instead of ours; empty for ours. */
  readonly urlTemplate: string
}

/** What a code proves the ownership of. */
export type CodeOf = "email" | "phone"

/** What a code is for: to prove that, or to come in for the first time. */
export type CodeFor = CodeOf | "invite"

const hour = 60 * 60 * 1000
const lifetimesMs: Readonly<Record<CodeFor, number>> = {
  email: hour,
  phone: hour,
  invite: 72 * hour,
}
const length = 6

/** 32 characters that nobody mistakes for one another; 32 divides 256, so none is likelier. */
const alphabet = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"

/** Makes a code of six characters; it is good for an hour, that of an invitation for three days. */
export function createCode(
  cx: Pick<Cx, "clock" | "random" | "secrets">,
  userId: string,
  { of, returned, urlTemplate = "" }: { of: CodeFor; returned: boolean; urlTemplate?: string },
): NewCode {
  const bytes = cx.random.bytes(length)
  const plain = [...bytes].map((byte) => alphabet[byte % alphabet.length]).join("")
  return {
    plain,
    sealed: cx.secrets.seal("seal", plain, codeAbout(userId, of)),
    expires: cx.clock.now() + lifetimesMs[of],
    returned,
    urlTemplate: urlTemplateOf(urlTemplate),
  }
}

/** What a sealed code is bound to. */
export const codeAbout = (userId: string, of: CodeFor): string => `user/${userId}/${of}_code`
