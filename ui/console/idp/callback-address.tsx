import { Copyable, Facts, t } from "../shell/index.ts"
import {
  backOf,
  type KindName,
  kindOf,
  type ProviderOwner,
  samlAddresses,
} from "./provider-kind.ts"

type CallbackAddressProps = {
  readonly kind: KindName
  readonly place: ProviderOwner
  readonly id: string | undefined
}

/** The address that must be entered at the provider, or else it sends nobody back. */
export function CallbackAddress({ kind, place, id }: CallbackAddressProps) {
  if (kindOf(kind).back === "saml" && id !== undefined) return <SamlAddresses id={id} />
  const address = backOf(kind, place, id)
  const label = t("idps.back")
  if (address === undefined) {
    return kind === "ldap" ? null : <p className="quiet small">{t("idps.back_later")}</p>
  }
  return (
    <div>
      <Facts rows={[[label, <Copyable key="back" value={address} what={label} />]]} />
      <p className="quiet small">{t("idps.back_hint")}</p>
    </div>
  )
}

/** A provider that speaks SAML reads the first one, or is told all three. */
function SamlAddresses({ id }: { readonly id: string }) {
  const rows = samlAddresses(id).map(([part, address]) => {
    const label = t(`idps.saml.${part}`)
    return [label, <Copyable key={part} value={address} what={label} />] as const
  })
  return (
    <div>
      <Facts rows={rows} />
      <p className="quiet small">{t("idps.saml.hint")}</p>
    </div>
  )
}
