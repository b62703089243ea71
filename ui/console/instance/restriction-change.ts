import type { MessageInitShape } from "@bufbuild/protobuf"
import type {
  GetRestrictionsResponse,
  SetRestrictionsRequestSchema,
} from "../../../src/gen/core/admin/v1/admin_service_pb.ts"
import { pageLanguages } from "../../../src/kernel/text/language.ts"

type RestrictionInput = {
  readonly languages: readonly string[]
  readonly isRegistrationAllowed: boolean
}

/**
 * The request for the new restrictions, or undefined if nothing changes. Selecting all languages
 * means no restriction, so that languages added later are included.
 */
export function restrictionChange(
  present: Pick<GetRestrictionsResponse, "allowedLanguages" | "disallowPublicOrgRegistration">,
  target: RestrictionInput,
): RestrictionRequest | undefined {
  const isAll = pageLanguages.every((language) => target.languages.includes(language))
  const list = isAll ? [] : [...target.languages]
  const isSame =
    list.length === present.allowedLanguages.length &&
    list.every((language) => present.allowedLanguages.includes(language))
  const disallowPublicOrgRegistration = !target.isRegistrationAllowed
  const turned = disallowPublicOrgRegistration !== present.disallowPublicOrgRegistration
  if (isSame && !turned) return undefined
  return {
    ...(!isSame && { allowedLanguages: { list } }),
    ...(turned && { disallowPublicOrgRegistration }),
  }
}

type RestrictionRequest = Extract<
  MessageInitShape<typeof SetRestrictionsRequestSchema>,
  { readonly $typeName?: never }
>
