import { Badge } from "../../kit/index.ts"
import { t } from "../shell/index.ts"

/** Several words, such as roles, or that there are none. */
export function Badges({ words }: { readonly words: readonly string[] }) {
  if (words.length === 0) return <span className="quiet">{t("detail.none")}</span>
  return (
    <span className="badges">
      {words.map((word) => (
        <Badge key={word}>{word}</Badge>
      ))}
    </span>
  )
}

/** A text that may be longer than its place. */
export function Clip({ text }: { readonly text: string }) {
  if (text === "") return null
  return (
    <bdi className="clip" title={text}>
      {text}
    </bdi>
  )
}
