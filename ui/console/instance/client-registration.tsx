import { Fragment } from "react"
import { AdminService } from "../../../src/gen/core/admin/v1/admin_service_pb.ts"
import { ProjectFieldName } from "../../../src/gen/core/project/v2/project_pb.ts"
import { ProjectService } from "../../../src/gen/core/project/v2/project_service_pb.ts"
import {
  type ClientRegistration,
  ClientRegistrationMode,
  type OIDCSettings,
} from "../../../src/gen/core/settings/v1/settings_pb.ts"
import { amountOf, durationOf, durationText, EditSection, formOf } from "../form/index.ts"
import { t, useRead } from "../shell/index.ts"
import { changeOidcSettings, type OidcSettingsPart } from "./oidc-settings.ts"

const modes = ["off", "token", "open"] as const
type Mode = (typeof modes)[number]

const numberOf = {
  off: ClientRegistrationMode.OFF,
  token: ClientRegistrationMode.TOKEN,
  open: ClientRegistrationMode.OPEN,
} as const satisfies Record<Mode, ClientRegistrationMode>

const modeOf = (registration: ClientRegistration | undefined): Mode =>
  modes.find((mode) => numberOf[mode] === registration?.mode) ?? "off"

/** Whether applications may register themselves, and where they then are. */
export function Registration({ settings }: OidcSettingsPart) {
  const projects = useProjects()
  const registration = settings.clientRegistration
  const mode = modeOf(registration)
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
              [t("registration.lifetime"), lifetime && durationText(lifetime)],
              [t("registration.max"), String(applicationsMax)],
              [t("registration.consent"), consentLifetime && durationText(consentLifetime)],
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

/** Projects that may hold them; ours is none to put an application into. */
function useProjects(): readonly { readonly value: string; readonly label: string }[] {
  const { projects } = useRead(ProjectService.method.listProjects, {
    pagination: { limit: 500, asc: true },
    sortingColumn: ProjectFieldName.NAME,
    filters: [{ filter: { case: "internalFilter", value: false } }],
  })
  return projects.map(({ projectId, name }) => ({ value: projectId, label: name }))
}

type Doors = { readonly mode: Mode; readonly documents: boolean }

/** Whether an application may come in at all that nobody here has entered. */
const isOn = ({ mode, documents }: Doors): boolean => mode !== "off" || documents

type Projects = ReturnType<typeof useProjects>

const registrationForm = (settings: OIDCSettings, projects: Projects) => {
  const registration = settings.clientRegistration
  const named = new Map(projects.map(({ value, label }) => [value, label]))
  return formOf({
    initial: {
      mode: modeOf(registration),
      projectId: registration?.projectId ?? "",
      lifetime: amountOf(registration?.lifetime),
      consent: amountOf(registration?.consentLifetime),
      most: String(registration?.applicationsMax ?? ""),
      documents: registration?.metadataDocuments ?? false,
    },
    disabled: (draft) => isOn(draft) && draft.projectId === "",
    save: (draft) => {
      const lifetime = durationOf(draft.lifetime)
      const consentLifetime = durationOf(draft.consent)
      const clientRegistration = {
        mode: numberOf[draft.mode],
        projectId: draft.projectId,
        ...(lifetime && { lifetime }),
        ...(consentLifetime && { consentLifetime }),
        applicationsMax: Number(draft.most),
        metadataDocuments: draft.documents,
      }
      return changeOidcSettings(settings, { clientRegistration })
    },
    fields: ({ select, text, duration, check, values: { mode, documents } }) => [
      select("mode", t("registration.mode"), {
        of: modes,
        words: (each) => t(`registration.${each}`),
        ...(mode !== "off" && { hint: t(`registration.${mode}_hint`) }),
      }),
      check("documents", t("registration.documents_allow"), t("registration.documents_hint")),
      isOn({ mode, documents }) && (
        <Fragment key="more">
          {select("projectId", t("registration.project"), {
            of: ["", ...named.keys()],
            words: (id) => named.get(id) ?? t("registration.project_none"),
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
