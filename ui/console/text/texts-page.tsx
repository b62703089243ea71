import { useParams } from "@tanstack/react-router"
import { pageLanguages } from "../../../src/kernel/text/language.ts"
import { SelectField } from "../../kit/index.ts"
import { useListState } from "../list/index.ts"
import {
  languageName,
  language as own,
  Page,
  PagePart,
  t,
  useOrganizationCrumbs,
} from "../shell/index.ts"
import { LoginTexts, screenName } from "./login-texts.tsx"
import { useLoginTexts } from "./login-translation.ts"
import { type KindName, kindNames } from "./message-kind.ts"
import type { TextOwner } from "./message-text.ts"
import { MessageTexts } from "./message-texts.tsx"
import { screensOf } from "./text-key.ts"

/** Texts of messages and login pages of the instance. */
export function TextsPage() {
  return (
    <Page title={t("nav.texts")} owner={t("nav.instance")}>
      <p className="quiet section-lead">{t("texts.lead")}</p>
      <TextEditor place={undefined} />
    </Page>
  )
}

/** Texts of an organization. */
export function OrganizationTextsPage() {
  const { organizationId } = useParams({ from: "/organizations/$organizationId/texts" })
  const crumbs = useOrganizationCrumbs(organizationId)
  return (
    <Page title={t("nav.texts")} crumbs={crumbs}>
      <p className="quiet section-lead">{t("texts.lead_organization")}</p>
      <TextEditor place={organizationId} />
    </Page>
  )
}

const isKind = (name: string): name is KindName => kindNames.some((kind) => kind === name)

/** One text in one language; the selection is stored in the URL. */
function TextEditor({ place: owner }: { readonly place: TextOwner }) {
  const { get, set } = useListState()
  const language = pageLanguages.find((one) => one === get("language")) ?? own
  const screens = screensOf(useLoginTexts(owner, language)?.inherited ?? {})
  const options = [
    ...kindNames.map((kind) => ({ value: kind, label: t(`messages.kind.${kind}`) })),
    ...screens.map((screen) => ({
      value: `screen.${screen}`,
      label: screenName(screen),
    })),
  ]
  const chosen = options.find(({ value }) => value === get("text"))?.value ?? "invite_user"
  const part = { owner, language }
  return (
    <>
      <div className="texts-choice">
        <SelectField
          label={t("texts.which")}
          options={options}
          value={chosen}
          onChange={(text) => set({ text })}
        />
        <SelectField
          label={t("texts.language")}
          options={pageLanguages.map((value) => ({ value, label: languageName(value) }))}
          value={language}
          onChange={(value) => set({ language: value })}
        />
      </div>
      <PagePart key={`${chosen} ${language}`} rows={6}>
        {isKind(chosen) ? (
          <MessageTexts kind={chosen} {...part} />
        ) : (
          <LoginTexts screen={chosen.slice("screen.".length)} {...part} />
        )}
      </PagePart>
    </>
  )
}
