import type { MessageInitShape } from "@bufbuild/protobuf"
import type {
  GetRestrictionsResponse,
  SetRestrictionsRequestSchema,
} from "../../../src/gen/core/admin/v1/admin_service_pb.ts"

/** What the login pages are written in, best first; the server knows these and no other. */
export const languages: readonly string[] = [
  "en",
  "de",
  "fr",
  "es",
  "it",
  "pt",
  "nl",
  "pl",
  "ja",
  "zh",
]

type RestrictionInput = {
  readonly languages: readonly string[]
  readonly isRegistrationAllowed: boolean
}

/**
 * What is sent so that it becomes as wanted; undefined where it is so. All languages are no
 * restriction, so the next one that the pages are written in is among them.
 */
export function changeOf(
  present: Pick<GetRestrictionsResponse, "allowedLanguages" | "disallowPublicOrgRegistration">,
  wanted: RestrictionInput,
): Change | undefined {
  const isAll = languages.every((language) => wanted.languages.includes(language))
  const list = isAll ? [] : [...wanted.languages]
  const isSame =
    list.length === present.allowedLanguages.length &&
    list.every((language) => present.allowedLanguages.includes(language))
  const disallowPublicOrgRegistration = !wanted.isRegistrationAllowed
  const turned = disallowPublicOrgRegistration !== present.disallowPublicOrgRegistration
  if (isSame && !turned) return undefined
  return {
    ...(!isSame && { allowedLanguages: { list } }),
    ...(turned && { disallowPublicOrgRegistration }),
  }
}

type Change = Extract<
  MessageInitShape<typeof SetRestrictionsRequestSchema>,
  { readonly $typeName?: never }
>
