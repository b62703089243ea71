import { Fragment } from "react"
import { AdminService } from "../../../src/gen/core/admin/v1/admin_service_pb.ts"
import { ProjectFieldName } from "../../../src/gen/core/project/v2/project_pb.ts"
import { ProjectService } from "../../../src/gen/core/project/v2/project_service_pb.ts"
import {
  type ClientRegistration,
  ClientRegistrationMode,
  type OIDCSettings,
} from "../../../src/gen/core/settings/v1/settings_pb.ts"
import {
  amountFromDuration,
  defineForm,
  durationFromAmount,
  EditSection,
  formatDuration,
} from "../form/index.ts"
import { t, useRead } from "../shell/index.ts"
import { type OidcSettingsPart, updateOidcSettings } from "./oidc-settings.ts"

const modes = ["off", "token", "open"] as const
type Mode = (typeof modes)[number]

const modeNumbers = {
  off: ClientRegistrationMode.OFF,
  token: ClientRegistrationMode.TOKEN,
  open: ClientRegistrationMode.OPEN,
} as const satisfies Record<Mode, ClientRegistrationMode>

const currentMode = (registration: ClientRegistration | undefined): Mode =>
  modes.find((mode) => modeNumbers[mode] === registration?.mode) ?? "off"

/** Whether applications can register themselves, and in which project. */
export function Registration({ settings }: OidcSettingsPart) {
  const projects = useProjects()
  const registration = settings.clientRegistration
  const mode = currentMode(registration)
  const { lifetime, applicationsMax = 0, metadataDocuments = false } = registration ?? {}
  const { consentLifetime } = registration ?? {}
  const isOff = mode === "off" && !metadataDocuments
  const name = projects.find(({ value }) => value === registration?.projectId)?.label
  return (
    <EditSection
      needs={AdminService.method.updateOIDCSettings}
      title={t("registration.title")}
      facts={<p className="quiet section-lead">{t("registration.lead")}</p>}
      rows={[
        [t("registration.mode"), t(`registration.${mode}`)],
        ...(isOff
          ? []
          : ([
              [t("registration.project"), name ?? registration?.projectId],
              [t("registration.lifetime"), lifetime && formatDuration(lifetime)],
              [t("registration.max"), String(applicationsMax)],
              [t("registration.consent"), consentLifetime && formatDuration(consentLifetime)],
              [
                t("registration.documents"),
                t(`registration.documents_${metadataDocuments ? "yes" : "no"}`),
              ],
            ] as const)),
      ]}
      form={registrationForm(settings, projects)}
    />
  )
}

/** Projects that can contain them; the internal project can't. */
function useProjects(): readonly { readonly value: string; readonly label: string }[] {
  const { projects } = useRead(ProjectService.method.listProjects, {
    pagination: { limit: 500, asc: true },
    sortingColumn: ProjectFieldName.NAME,
    filters: [{ filter: { case: "internalFilter", value: false } }],
  })
  return projects.map(({ projectId, name }) => ({ value: projectId, label: name }))
}

type RegistrationModes = { readonly mode: Mode; readonly documents: boolean }

/** Whether applications can be used that no administrator has created. */
const isEnabled = ({ mode, documents }: RegistrationModes): boolean => mode !== "off" || documents

type ProjectOptions = ReturnType<typeof useProjects>

const registrationForm = (settings: OIDCSettings, projects: ProjectOptions) => {
  const registration = settings.clientRegistration
  const named = new Map(projects.map(({ value, label }) => [value, label]))
  return defineForm({
    initial: {
      mode: currentMode(registration),
      projectId: registration?.projectId ?? "",
      lifetime: amountFromDuration(registration?.lifetime),
      consent: amountFromDuration(registration?.consentLifetime),
      most: String(registration?.applicationsMax ?? ""),
      documents: registration?.metadataDocuments ?? false,
    },
    disabled: (draft) => isEnabled(draft) && draft.projectId === "",
    save: (draft) => {
      const lifetime = durationFromAmount(draft.lifetime)
      const consentLifetime = durationFromAmount(draft.consent)
      const clientRegistration = {
        mode: modeNumbers[draft.mode],
        projectId: draft.projectId,
        ...(lifetime && { lifetime }),
        ...(consentLifetime && { consentLifetime }),
        applicationsMax: Number(draft.most),
        metadataDocuments: draft.documents,
      }
      return updateOidcSettings(settings, { clientRegistration })
    },
    fields: ({ select, text, duration, check, values: { mode, documents } }) => [
      select("mode", t("registration.mode"), {
        of: modes,
        label: (each) => t(`registration.${each}`),
        ...(mode !== "off" && { hint: t(`registration.${mode}_hint`) }),
      }),
      check("documents", t("registration.documents_allow"), t("registration.documents_hint")),
      isEnabled({ mode, documents }) && (
        <Fragment key="more">
          {select("projectId", t("registration.project"), {
            of: ["", ...named.keys()],
            label: (id) => named.get(id) ?? t("registration.project_none"),
            hint: t("registration.project_hint"),
          })}
          <div className="pair pair-two">
            {duration("lifetime", t("registration.lifetime"))}
            {text("most", t("registration.max"), {
              type: "number",
              min: 1,
              max: 100_000,
              required: true,
            })}
          </div>
          {duration("consent", t("registration.consent"), { hint: t("registration.consent_hint") })}
        </Fragment>
      ),
    ],
  })
}
