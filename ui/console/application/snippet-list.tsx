import { useState } from "react"
import { Alert, Chips, CopyButton } from "../../kit/index.ts"
import { t } from "../shell/index.ts"
import type { Snippet } from "./snippet.ts"
import { secretPlaceholder } from "./snippets.ts"

type SnippetsProps = { readonly snippets: readonly Snippet[] }

/** Configuration snippets for the selected software. */
export function Snippets({ snippets }: SnippetsProps) {
  const [chosen, choose] = useState("")
  const shown = snippets.find(({ name }) => name === chosen) ?? snippets[0]
  if (!shown) return null
  const { name, text, requiredRedirectUri: wants } = shown
  return (
    <div className="stack">
      <Chips
        legend={t("connect.settings_for")}
        name="snippet"
        options={snippets.map((one) => ({ value: one.name, label: one.name }))}
        value={name}
        onChange={choose}
      />
      {wants && <Alert tone="warning">{t("connect.wants", { name, uri: wants })}</Alert>}
      <pre className="snippet">
        <code>{text}</code>
      </pre>
      <div className="row">
        <CopyButton value={text} label={t("copy.do")} done={t("copy.done")} description={name} />
        {text.includes(secretPlaceholder) && (
          <p className="quiet small">{t("connect.placeholder")}</p>
        )}
      </div>
    </div>
  )
}
