import { Copyable, Facts, t } from "../shell/index.ts"
import {
  findCallbackUrl,
  getKind,
  type KindName,
  type ProviderOwner,
  samlAddresses,
} from "./provider-kind.ts"

type CallbackAddressProps = {
  readonly kind: KindName
  readonly owner: ProviderOwner
  readonly id: string | undefined
}

/** The callback URL to register at the provider. */
export function CallbackAddress({ kind, owner, id }: CallbackAddressProps) {
  if (getKind(kind).callback === "saml" && id !== undefined) return <SamlAddresses id={id} />
  const address = findCallbackUrl(kind, owner, id)
  const label = t("idps.back")
  if (address === undefined) {
    return kind === "ldap" ? null : <p className="quiet small">{t("idps.back_later")}</p>
  }
  return (
    <div>
      <Facts rows={[[label, <Copyable key="back" value={address} description={label} />]]} />
      <p className="quiet small">{t("idps.back_hint")}</p>
    </div>
  )
}

/** URLs to register at a SAML provider: the metadata URL, or all three separately. */
function SamlAddresses({ id }: { readonly id: string }) {
  const rows = samlAddresses(id).map(([part, address]) => {
    const label = t(`idps.saml.${part}`)
    return [label, <Copyable key={part} value={address} description={label} />] as const
  })
  return (
    <div>
      <Facts rows={rows} />
      <p className="quiet small">{t("idps.saml.hint")}</p>
    </div>
  )
}
