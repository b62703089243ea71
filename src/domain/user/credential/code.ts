import type { Cx } from "../../../store/index.ts"
import { newCode } from "../../policy/index.ts"
import { urlTemplateOf } from "../field.ts"

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

const generators = {
  email: "verify_email_code",
  phone: "verify_phone_code",
  invite: "init_code",
} as const

/** Makes a code of what the instance makes those of its kind of, and as long as it says good. */
export function createCode(
  cx: Cx,
  userId: string,
  { of, returned, urlTemplate = "" }: { of: CodeFor; returned: boolean; urlTemplate?: string },
): NewCode {
  const { plain, expires } = newCode(cx, generators[of])
  return {
    plain,
    sealed: cx.secrets.seal("seal", plain, codeAbout(userId, of)),
    expires,
    returned,
    urlTemplate: urlTemplateOf(urlTemplate),
  }
}

/** What a sealed code is bound to. */
export const codeAbout = (userId: string, of: CodeFor): string => `user/${userId}/${of}_code`
