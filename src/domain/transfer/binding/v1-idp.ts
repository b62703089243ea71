import type { Options as OptionsMessage } from "../../../gen/core/idp/v1/idp_pb.ts"
import { givenId } from "../../../kernel/text/given.ts"
import { optionsOf, shownOptions } from "../../idp/api.ts"
import { addIdp, idpsOf, type Options, secretOf } from "../../idp/index.ts"
import { emptyError } from "./v1-project.ts"
import { needs, row } from "./v1-row.ts"

/** What `auto_register` says where nobody says it in full. */
const optionsIn = (
  { autoRegister }: { readonly autoRegister: boolean },
  options: OptionsMessage | undefined,
): Options => {
  if (options) return optionsOf(options)
  const isAllowed = { isLinkingAllowed: true, isCreationAllowed: true, isAutoUpdate: false }
  return { ...isAllowed, isAutoCreation: autoRegister, autoLinking: "off" }
}

export const oidcIdpRow = row({
  field: "oidcIdps",
  needs: needs("org.idp"),
  from: ({ oidcIdps }) => oidcIdps,
  *read(cx, orgId, { withSecrets }) {
    for (const { id: idpId, name, settings, options } of Object.values(idpsOf(cx, orgId).all)) {
      if (settings.kind !== "oidc") continue
      const { clientId, issuer, isIdTokenMapping, usePkce } = settings
      const autoRegister = options.isAutoCreation
      const clientSecret = withSecrets ? secretOf(cx, idpId) : ""
      const scopes = [...settings.scopes]
      const idp = { name, clientId, clientSecret, issuer, scopes, autoRegister }
      const ours = { options: shownOptions(options), isIdTokenMapping, usePkce }
      yield { oidcIdps: [{ idpId, idp, ...ours }] }
    }
  },
  write: async (cx, orgId, { idpId, idp, options, isIdTokenMapping, usePkce }) => {
    if (!idp) throw emptyError("identity provider")
    const { name, clientId, clientSecret: secret, issuer, scopes } = idp
    const client = { clientId, scopes, issuer, isIdTokenMapping, usePkce }
    await addIdp(cx, orgId, {
      id: givenId(cx.ids, "idp_id", idpId),
      name,
      secret,
      settings: { kind: "oidc", ...client },
      options: optionsIn(idp, options),
    })
  },
  idOf: ({ idpId }) => idpId,
  taken: ({ idpId }) => ({ oidcIpds: [idpId] }),
})

export const jwtIdpRow = row({
  field: "jwtIdps",
  needs: needs("org.idp"),
  from: ({ jwtIdps }) => jwtIdps,
  *read(cx, orgId) {
    for (const { id: idpId, name, settings, options } of Object.values(idpsOf(cx, orgId).all)) {
      if (settings.kind !== "jwt") continue
      const { issuer, jwtEndpoint, keysEndpoint, headerName } = settings
      const autoRegister = options.isAutoCreation
      const idp = { name, issuer, jwtEndpoint, keysEndpoint, headerName, autoRegister }
      yield { jwtIdps: [{ idpId, idp, options: shownOptions(options) }] }
    }
  },
  write: async (cx, orgId, { idpId, idp, options }) => {
    if (!idp) throw emptyError("identity provider")
    const { name, issuer, jwtEndpoint, keysEndpoint, headerName } = idp
    await addIdp(cx, orgId, {
      id: givenId(cx.ids, "idp_id", idpId),
      name,
      settings: { kind: "jwt", issuer, jwtEndpoint, keysEndpoint, headerName },
      options: optionsIn(idp, options),
    })
  },
  idOf: ({ idpId }) => idpId,
  taken: ({ idpId }) => ({ jwtIdps: [idpId] }),
})
