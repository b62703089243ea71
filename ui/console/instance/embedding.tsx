import type { SecuritySettings } from "../../../src/gen/core/settings/v2/security_settings_pb.ts"
import { SettingsService } from "../../../src/gen/core/settings/v2/settings_service_pb.ts"
import { defineForm, EditSection, lineList, linesOf } from "../form/index.ts"
import { call, t, ValueList } from "../shell/index.ts"

const { setSecuritySettings } = SettingsService.method

/** Sites that can embed the sign-in pages in a frame. */
export function Embedding({ security }: { readonly security: SecuritySettings }) {
  const { enabled = false, allowedOrigins = [] } = security.embeddedIframe ?? {}
  return (
    <EditSection
      needs={setSecuritySettings}
      title={t("embedding.title")}
      facts={
        <>
          <p className="quiet section-lead">{t(enabled ? "embedding.on" : "embedding.off")}</p>
          {enabled && <ValueList code values={allowedOrigins} />}
        </>
      }
      form={embeddingForm(security)}
    />
  )
}

const embeddingForm = ({ embeddedIframe, enableImpersonation }: SecuritySettings) =>
  defineForm({
    initial: {
      enabled: embeddedIframe?.enabled ?? false,
      origins: (embeddedIframe?.allowedOrigins ?? []).join("\n"),
    },
    lists: { origins: lineList },
    save: ({ enabled, origins }) =>
      call(setSecuritySettings, {
        embeddedIframe: { enabled, allowedOrigins: linesOf(origins) },
        enableImpersonation,
      }),
    fields: ({ check, area, values }) => [
      check("enabled", t("embedding.enabled"), t("embedding.enabled_hint")),
      values.enabled &&
        area("origins", t("embedding.origins"), {
          hint: t("embedding.origins_hint"),
          maxLength: 5000,
          rows: 4,
          required: true,
          spellCheck: false,
        }),
    ],
  })
