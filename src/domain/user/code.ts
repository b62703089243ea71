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

const lifetimeMs = 60 * 60 * 1000
const length = 6

/** 32 characters that nobody mistakes for one another; 32 divides 256, so none is likelier. */
const alphabet = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"

/** Makes a code of six characters that is good for an hour. */
export function createCode(
  cx: Pick<Cx, "clock" | "random" | "secrets">,
  userId: string,
  { of, returned, urlTemplate = "" }: { of: CodeOf; returned: boolean; urlTemplate?: string },
): NewCode {
  const bytes = cx.random.bytes(length)
  const plain = [...bytes].map((byte) => alphabet[byte % alphabet.length]).join("")
  return {
    plain,
    sealed: cx.secrets.seal("seal", plain, codeAbout(userId, of)),
    expires: cx.clock.now() + lifetimeMs,
    returned,
    urlTemplate: urlTemplateOf(urlTemplate),
  }
}

/** What a sealed code is bound to. */
export const codeAbout = (userId: string, of: CodeOf): string => `user/${userId}/${of}_code`
