import { bindHandlers } from "../../../api/method.ts"
import { IdentityProviderService } from "../../../gen/core/idp/v2/idp_service_pb.ts"
import { IdentityProviderType } from "../../../gen/core/settings/v2/settings_pb.ts"
import {
  type GetActiveIdentityProvidersRequest,
  SettingsService,
} from "../../../gen/core/settings/v2/settings_service_pb.ts"
import { requestedOrganization } from "../../../kernel/context.ts"
import { toTimestamp } from "../../../protocol/api/response.ts"
import type { Cx } from "../../../store/index.ts"
import { listActiveIdps } from "../active.ts"
import { findIdpById, idpNotFoundError } from "../commands.ts"
import type { IdpKind, Options } from "../model.ts"
import { toOptionsMessage } from "./v1-form.ts"
import { toMessageWithMetadata } from "./v1-message.ts"

export const v2 = bindHandlers<Cx>()(IdentityProviderService, {
  getIDPByID: ({ id }, cx) => {
    const found = findIdpById(cx, id)
    if (!found) throw idpNotFoundError()
    return { idp: toMessageWithMetadata(cx, found) }
  },
})

/** Lists the providers on the login pages of an organization. */
export const settings = bindHandlers<Cx>()(SettingsService, {
  getActiveIdentityProviders: (req, cx) => {
    const orgId = requestedOrganization(cx, req.ctx?.resourceOwner)
    const found = listActiveIdps(cx, orgId).filter(({ idp }) => matchesOptions(req, idp.options))
    return {
      details: {
        totalResult: BigInt(found.length),
        processedSequence: BigInt(cx.store.log.durable()),
        timestamp: toTimestamp(cx.clock.now()),
      },
      identityProviders: found.map(({ idp }) => ({
        id: idp.id,
        name: idp.name,
        type: types[idp.settings.kind],
        options: toOptionsMessage(idp.options),
      })),
    }
  },
})

/** Whether the options match the filters of a request; absent filters match everything. */
function matchesOptions(req: GetActiveIdentityProvidersRequest, options: Options): boolean {
  const { creationAllowed, linkingAllowed, autoCreation, autoLinking } = req
  const pairs = [
    [creationAllowed, options.isCreationAllowed],
    [linkingAllowed, options.isLinkingAllowed],
    [autoCreation, options.isAutoCreation],
    [autoLinking, options.autoLinking !== "off"],
  ] as const
  return pairs.every(([expected, is]) => expected === undefined || expected === is)
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
