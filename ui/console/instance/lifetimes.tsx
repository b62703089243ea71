import { AdminService } from "../../../src/gen/core/admin/v1/admin_service_pb.ts"
import type { OIDCSettings } from "../../../src/gen/core/settings/v1/settings_pb.ts"
import { Disclosure } from "../../kit/index.ts"
import { defineForm, EditSection, formatDuration } from "../form/index.ts"
import { t } from "../shell/index.ts"
import { type OidcSettingsPart, updateOidcSettings } from "./oidc-settings.ts"
import {
  algorithms,
  type LifetimeName,
  lifetimeNames,
  toAmounts,
  toDurations,
} from "./token-settings.ts"

const { updateOIDCSettings } = AdminService.method

/** Default token lifetimes and signature algorithms of applications. */
export function TokenDefaults({ settings }: OidcSettingsPart) {
  const lasting = (name: LifetimeName) => {
    const lifetime = settings[name]
    return [t(`lifetime.${name}`), lifetime && formatDuration(lifetime)] as const
  }
  return (
    <EditSection
      needs={updateOIDCSettings}
      title={t("tokens_of.title")}
      rows={[
        ...lifetimeNames.map(lasting),
        [t("signer.idTokenSigningAlgorithm"), settings.idTokenSigningAlgorithm],
        [t("signer.accessTokenSigningAlgorithm"), settings.accessTokenSigningAlgorithm],
      ]}
      form={tokenDefaultsForm(settings)}
    />
  )
}

const tokenDefaultsForm = (settings: OIDCSettings) =>
  defineForm({
    initial: {
      ...toAmounts(settings),
      idTokenSigningAlgorithm: knownAlgorithm(settings.idTokenSigningAlgorithm),
      accessTokenSigningAlgorithm: knownAlgorithm(settings.accessTokenSigningAlgorithm),
    },
    save: ({ idTokenSigningAlgorithm, accessTokenSigningAlgorithm, ...lifetimes }) => {
      const signed = { idTokenSigningAlgorithm, accessTokenSigningAlgorithm }
      return updateOidcSettings(settings, { ...signed, ...toDurations(lifetimes) })
    },
    fields: ({ duration, select }) => [
      <div className="pair pair-two" key="lifetimes">
        {lifetimeNames.map((name) => duration(name, t(`lifetime.${name}`)))}
      </div>,
      <Disclosure key="signatures" summary={t("settings.signatures")}>
        <p className="quiet small">{t("settings.signatures_hint")}</p>
        <div className="pair pair-two">
          {select("idTokenSigningAlgorithm", t("signer.idTokenSigningAlgorithm"), algorithmOptions)}
          {select(
            "accessTokenSigningAlgorithm",
            t("signer.accessTokenSigningAlgorithm"),
            algorithmOptions,
          )}
        </div>
      </Disclosure>,
    ],
  })

const algorithmOptions = { of: algorithms, label: (algorithm: string) => algorithm }

const knownAlgorithm = (algorithmName: string) =>
  algorithms.find((algorithm) => algorithm === algorithmName) ?? "RS256"
