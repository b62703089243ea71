import type { Options as OptionsMessage } from "../../../gen/core/idp/v1/idp_pb.ts"
import { parseResourceId } from "../../../kernel/text/identifier.ts"
import { optionsFrom, toOptionsMessage } from "../../idp/api.ts"
import { createIdp, idpsOf, type Options, secretOf } from "../../idp/index.ts"
import { itemKind, permissionsFor } from "./v1-item-kind.ts"
import { emptyMessageError } from "./v1-project.ts"

/** The options that follow from `auto_register` if they are not set. */
const optionsIn = (
  { autoRegister }: { readonly autoRegister: boolean },
  options: OptionsMessage | undefined,
): Options => {
  if (options) return optionsFrom(options)
  const isAllowed = { isLinkingAllowed: true, isCreationAllowed: true, isAutoUpdate: false }
  return { ...isAllowed, isAutoCreation: autoRegister, autoLinking: "off" }
}

export const oidcIdpRow = itemKind({
  field: "oidcIdps",
  needs: permissionsFor("org.idp"),
  from: ({ oidcIdps }) => oidcIdps,
  *read(cx, orgId, { withSecrets }) {
    for (const { id: idpId, name, settings, options } of Object.values(idpsOf(cx, orgId).all)) {
      if (settings.kind !== "oidc") continue
      const { clientId, issuer, isIdTokenMapping, usePkce } = settings
      const autoRegister = options.isAutoCreation
      const clientSecret = withSecrets ? secretOf(cx, idpId) : ""
      const scopes = [...settings.scopes]
      const idp = { name, clientId, clientSecret, issuer, scopes, autoRegister }
      const ours = { options: toOptionsMessage(options), isIdTokenMapping, usePkce }
      yield { oidcIdps: [{ idpId, idp, ...ours }] }
    }
  },
  write: async (cx, orgId, { idpId, idp, options, isIdTokenMapping, usePkce }) => {
    if (!idp) throw emptyMessageError("identity provider")
    const { name, clientId, clientSecret: secret, issuer, scopes } = idp
    const client = { clientId, scopes, issuer, isIdTokenMapping, usePkce }
    await createIdp(cx, orgId, {
      id: parseResourceId(cx.ids, "idp_id", idpId),
      name,
      secret,
      settings: { kind: "oidc", ...client },
      options: optionsIn(idp, options),
    })
  },
  idOf: ({ idpId }) => idpId,
  successOf: ({ idpId }) => ({ oidcIpds: [idpId] }),
})

export const jwtIdpRow = itemKind({
  field: "jwtIdps",
  needs: permissionsFor("org.idp"),
  from: ({ jwtIdps }) => jwtIdps,
  *read(cx, orgId) {
    for (const { id: idpId, name, settings, options } of Object.values(idpsOf(cx, orgId).all)) {
      if (settings.kind !== "jwt") continue
      const { issuer, jwtEndpoint, keysEndpoint, headerName } = settings
      const autoRegister = options.isAutoCreation
      const idp = { name, issuer, jwtEndpoint, keysEndpoint, headerName, autoRegister }
      yield { jwtIdps: [{ idpId, idp, options: toOptionsMessage(options) }] }
    }
  },
  write: async (cx, orgId, { idpId, idp, options }) => {
    if (!idp) throw emptyMessageError("identity provider")
    const { name, issuer, jwtEndpoint, keysEndpoint, headerName } = idp
    await createIdp(cx, orgId, {
      id: parseResourceId(cx.ids, "idp_id", idpId),
      name,
      settings: { kind: "jwt", issuer, jwtEndpoint, keysEndpoint, headerName },
      options: optionsIn(idp, options),
    })
  },
  idOf: ({ idpId }) => idpId,
  successOf: ({ idpId }) => ({ jwtIdps: [idpId] }),
})
