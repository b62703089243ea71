import { type Call, isAmongCallers } from "../../kernel/context.ts"
import { Fault } from "../../kernel/fault.ts"
import { urlTemplateOf } from "../../protocol/user-field.ts"
import type { Cx } from "../../store/index.ts"
import { isKnownHost, requireInstance } from "../instance/index.ts"
import { type CodeFor, codeGenerators } from "../lockout/index.ts"
import type { Channel } from "../message-provider/index.ts"
import { newCode } from "../policy/index.ts"
import { byUser, type Verifier, verifierFrom } from "../user-model/index.ts"
import {
  isAtInstance,
  mustLeadToTrustedPage,
  pageOfTemplate,
  type Recipient,
  recipientOf,
} from "./url-template.ts"

/** A verification code, sealed for the mail that carries it, or also returned to the caller. */
export type NewCode = {
  readonly plain: string
  readonly sealed: string
  readonly expires: number
  readonly returned: boolean
  /** The link that the mail carries instead of ours; empty for ours. */
  readonly urlTemplate: string
  /** Who verifies an address by it, if it is returned or its link is the caller's. */
  readonly verifier?: Verifier
}

type CodeWish = {
  readonly of: CodeFor
  readonly returned: boolean
  readonly urlTemplate?: string
  /** Where it is sent; the email address that the user has where nothing else is named. */
  readonly recipient?: Partial<Recipient> & { readonly channel?: Channel }
}

/** Makes a code of what the instance makes those of its kind of, and as long as it says good. */
export function createCode(
  cx: Cx,
  userId: string,
  { of, returned, urlTemplate = "", recipient = {} }: CodeWish,
): NewCode {
  const { plain, expires } = newCode(cx, codeGenerators[of])
  const template = urlTemplateOf(urlTemplate)
  if (template !== "") {
    const stored = recipientOf(cx, userId, recipient.channel)
    const { orgId = stored.orgId } = recipient
    const address = recipient.address || stored.address
    mustLeadToTrustedPage(cx, userId, { orgId, address, urlTemplate: template })
  }
  const isUserProof = !returned && (template === "" || isOwnPage(cx, template))
  const verifier = isUserProof ? byUser : verifierFrom(cx)
  return {
    plain,
    sealed: cx.secrets.seal("seal", plain, codeAbout(userId, of)),
    expires,
    returned,
    urlTemplate: template,
    ...((returned || template !== "") && { verifier }),
  }
}

/** What a sealed code is bound to. */
export const codeAbout = (userId: string, of: CodeFor): string => `user/${userId}/${of}_code`

/**
 * What our own link carries beside its code: 128 bits that depend on how this very code is kept. A
 * right code with it is accepted however often others have typed wrong ones.
 */
export const linkKeyOf = (
  { secrets }: Pick<Call, "secrets">,
  userId: string,
  { of, sealed }: { readonly of: CodeFor; readonly sealed: string },
): string => secrets.hash(sealed, `${codeAbout(userId, of)}/link`).slice(-linkKeyLength)

/** 22 letters of base64url are 132 bits. */
const linkKeyLength = 22

/**
 * Nobody gets a code for themselves into their own hands, and who has messages sent to themselves
 * has them lead to the instance: an address that they say is theirs may be anybody's. Whoever may
 * change users could write what they like.
 */
export function mustBeModest(cx: Cx, id: string, { returned, urlTemplate }: Wish): void {
  if (!isAmongCallers(cx, id)) return
  if (returned) throw returnedError()
  if (urlTemplate === "" || cx.holds?.("user.write") || isAtInstance(cx, urlTemplate)) return
  throw new Fault(
    "permission_denied",
    "user.url_template_foreign",
    "url_template must lead to a domain of this instance; an administrator can trust others",
  )
}

type Wish = Pick<NewCode, "returned" | "urlTemplate">

/**
 * Whether a link opens a page of the instance itself. A code in any other link reaches whoever runs
 * the page, so it doesn't prove that the user read the message. Protocol endpoints are excluded:
 * they redirect to clients and send parameters such as `state` there.
 */
function isOwnPage(cx: Cx, urlTemplate: string): boolean {
  const url = pageOfTemplate(urlTemplate)
  if (!url?.pathname.startsWith("/ui/") || !isKnownHost(cx, url.hostname)) return false
  const own = new URL(requireInstance(cx).publicUrl)
  return url.hostname === own.hostname ? url.origin === own.origin : url.port === ""
}

/** A code in one's own hands proves nothing. */
const returnedError = () =>
  new Fault(
    "permission_denied",
    "user.verify_own",
    "nobody can call their own address verified, nor have its code returned; have it sent",
  )
