import { AdminService } from "../../../src/gen/core/admin/v1/admin_service_pb.ts"
import type { OIDCSettings } from "../../../src/gen/core/settings/v1/settings_pb.ts"
import { Disclosure } from "../../kit/index.ts"
import { durationText, EditSection, formOf } from "../form/index.ts"
import { t } from "../shell/index.ts"
import { changeOidcSettings, type OidcSettingsPart } from "./oidc-settings.ts"
import {
  algorithms,
  durationsOf,
  type LifetimeName,
  lifetimeNames,
  lifetimesOf,
} from "./token-settings.ts"

const { updateOIDCSettings } = AdminService.method

/** How long tokens last and what signs them, where an application says nothing else. */
export function Lifetimes({ settings }: OidcSettingsPart) {
  const lasting = (name: LifetimeName) => {
    const lifetime = settings[name]
    return [t(`lifetime.${name}`), lifetime && durationText(lifetime)] as const
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
      form={lifetimeForm(settings)}
    />
  )
}

const lifetimeForm = (settings: OIDCSettings) =>
  formOf({
    initial: {
      ...lifetimesOf(settings),
      idTokenSigningAlgorithm: knownOf(settings.idTokenSigningAlgorithm),
      accessTokenSigningAlgorithm: knownOf(settings.accessTokenSigningAlgorithm),
    },
    save: ({ idTokenSigningAlgorithm, accessTokenSigningAlgorithm, ...lifetimes }) => {
      const signed = { idTokenSigningAlgorithm, accessTokenSigningAlgorithm }
      return changeOidcSettings(settings, { ...signed, ...durationsOf(lifetimes) })
    },
    fields: ({ duration, select }) => [
      <div className="pair pair-two" key="lifetimes">
        {lifetimeNames.map((name) => duration(name, t(`lifetime.${name}`)))}
      </div>,
      <Disclosure key="signatures" summary={t("settings.signatures")}>
        <p className="quiet small">{t("settings.signatures_hint")}</p>
        <div className="pair pair-two">
          {select("idTokenSigningAlgorithm", t("signer.idTokenSigningAlgorithm"), byName)}
          {select("accessTokenSigningAlgorithm", t("signer.accessTokenSigningAlgorithm"), byName)}
        </div>
      </Disclosure>,
    ],
  })

const byName = { of: algorithms, words: (algorithm: string) => algorithm }

const knownOf = (said: string) => algorithms.find((algorithm) => algorithm === said) ?? "RS256"
