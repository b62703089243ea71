import { Copyable, Facts } from "../shell/detail.tsx"
import { useText } from "../shell/text.ts"
import { backOf, type KindName, type Place } from "./kind.ts"

type BackAddressProps = {
  readonly kind: KindName
  readonly place: Place
  readonly id: string | undefined
}

/** The address that must be entered at the provider, or else it sends nobody back. */
export function BackAddress({ kind, place, id }: BackAddressProps) {
  const { t } = useText()
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
