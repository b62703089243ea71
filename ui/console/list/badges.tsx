import { Badge } from "../../kit/index.ts"
import { t } from "../shell/index.ts"

/** Badges for several texts, such as roles, or a placeholder. */
export function Badges({ words: texts }: { readonly words: readonly string[] }) {
  if (texts.length === 0) return <span className="quiet">{t("detail.none")}</span>
  return (
    <span className="badges">
      {texts.map((word) => (
        <Badge key={word}>{word}</Badge>
      ))}
    </span>
  )
}

/** A text that is truncated if it is too long. */
export function Clip({ text }: { readonly text: string }) {
  if (text === "") return null
  return (
    <bdi className="clip" title={text}>
      {text}
    </bdi>
  )
}
