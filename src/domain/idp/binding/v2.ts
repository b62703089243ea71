import { share } from "../../../api/method.ts"
import { IdentityProviderService } from "../../../gen/core/idp/v2/idp_service_pb.ts"
import { IdentityProviderType } from "../../../gen/core/settings/v2/settings_pb.ts"
import {
  type GetActiveIdentityProvidersRequest,
  SettingsService,
} from "../../../gen/core/settings/v2/settings_service_pb.ts"
import { namedOrganization } from "../../../kernel/context.ts"
import { at } from "../../../protocol/api/answer.ts"
import type { Cx } from "../../../store/index.ts"
import { activeIdps, idpById, missingError } from "../commands.ts"
import type { IdpKind, Options } from "../model.ts"
import { shownOptions } from "./v1-form.ts"
import { shownWhole } from "./v1-shown.ts"

export const v2 = share<Cx>()(IdentityProviderService, {
  getIDPByID: ({ id }, cx) => {
    const found = idpById(cx, id)
    if (!found) throw missingError()
    return { idp: shownWhole(cx, found) }
  },
})

/** What the login pages of an organisation offer. */
export const settings = share<Cx>()(SettingsService, {
  getActiveIdentityProviders: (req, cx) => {
    const orgId = namedOrganization(cx, req.ctx?.resourceOwner)
    const found = activeIdps(cx, orgId).filter(({ idp }) => isWanted(req, idp.options))
    return {
      details: {
        totalResult: BigInt(found.length),
        processedSequence: BigInt(cx.store.log.durable()),
        timestamp: at(cx.clock.now()),
      },
      identityProviders: found.map(({ idp }) => ({
        id: idp.id,
        name: idp.name,
        type: types[idp.settings.kind],
        options: shownOptions(idp.options),
      })),
    }
  },
})

/** Whether options are as asked for; what isn't asked for may be either. */
function isWanted(req: GetActiveIdentityProvidersRequest, options: Options): boolean {
  const { creationAllowed, linkingAllowed, autoCreation, autoLinking } = req
  const pairs = [
    [creationAllowed, options.isCreationAllowed],
    [linkingAllowed, options.isLinkingAllowed],
    [autoCreation, options.isAutoCreation],
    [autoLinking, options.autoLinking !== "off"],
  ] as const
  return pairs.every(([wanted, is]) => wanted === undefined || wanted === is)
}

const types: Readonly<Record<IdpKind, IdentityProviderType>> = {
  oidc: IdentityProviderType.OIDC,
  jwt: IdentityProviderType.JWT,
  ldap: IdentityProviderType.LDAP,
  oauth: IdentityProviderType.OAUTH,
  azure: IdentityProviderType.AZURE_AD,
  github: IdentityProviderType.GITHUB,
  github_enterprise: IdentityProviderType.GITHUB_ES,
  gitlab: IdentityProviderType.GITLAB,
  gitlab_self_hosted: IdentityProviderType.GITLAB_SELF_HOSTED,
  google: IdentityProviderType.GOOGLE,
  apple: IdentityProviderType.APPLE,
  saml: IdentityProviderType.SAML,
}
