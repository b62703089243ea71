import type { Cx, Transaction } from "../../store/index.ts"
import { idpSecret, type Settings } from "./model.ts"

/** The secret of a provider in plain text; empty if it has none. */
export function secretOf(cx: Cx, id: string): string {
  const { sealed } = cx.store.state(cx, idpSecret, id)
  return sealed === "" ? "" : (cx.secrets.open("seal", sealed, secretContext(id)) ?? "")
}

/** The settings that determine where a secret is sent and for which client; excludes scopes. */
export function destinationOf(settings: Settings): string {
  if (settings.kind === "ldap") {
    const { servers, startTls, rootCa, bindDn } = settings
    return JSON.stringify([servers, startTls, rootCa, bindDn])
  }
  const { tokenEndpoint, issuer, tenant, clientId, teamId, keyId } = {
    ...emptyDestination,
    ...settings,
  }
  return JSON.stringify([tokenEndpoint, issuer, tenant, clientId, teamId, keyId])
}

const emptyDestination = {
  tokenEndpoint: "",
  issuer: "",
  tenant: "",
  clientId: "",
  teamId: "",
  keyId: "",
}

const secretContext = (id: string): string => `idp/${id}`

export function storeSecret(tx: Transaction, id: string, secret: string): void {
  const sealed = tx.secrets.seal("seal", secret, secretContext(id))
  const secretEvent = {
    type: "idp.secret.changed",
    data: {},
    private: { sealed },
    erase: {},
  } as const
  tx.append(idpSecret, id, [secretEvent], tx.instance)
}

export function deleteSecret(tx: Transaction, id: string): void {
  if (tx.state(idpSecret, id).sealed === "") return
  tx.append(idpSecret, id, [{ type: "idp.secret.removed", data: {}, erase: {} }])
}
