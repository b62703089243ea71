import type { ReactNode } from "react"
import { FlowForm, type Target } from "../flow.tsx"
import type { PageProps } from "../frame.tsx"

type KeyFormProps = Pick<PageProps, "t"> & {
  readonly target: Target
  /** Whether a key proves itself, or is made. */
  readonly mode: "get" | "create"
  /** What the browser is handed (WebAuthn §5.4, §5.5), as JSON. */
  readonly options: string
  /** Further fields, posted as they are. */
  readonly hidden: Readonly<Record<string, string>>
  readonly error?: string | undefined
  /**
   * Whether it is one way of several: it shows in browsers alone that can take it, and a passkey
   * that is asked for is also offered where a name is typed.
   */
  readonly isOffered?: boolean
  readonly children: ReactNode
}

/** Has the page's script ask a key when it is submitted; posts what it answers as `credential`. */
export function KeyForm(props: KeyFormProps) {
  const { t, target, mode, options, hidden, error, isOffered = false, children } = props
  return (
    <div
      className="stack"
      data-key={mode}
      data-key-options={options}
      data-key-offered={isOffered ? "" : undefined}
    >
      {!isOffered && (
        <noscript>
          <p className="alert alert-warning">{t("factor.needs_script")}</p>
        </noscript>
      )}
      <FlowForm target={target}>
        {Object.entries(hidden).map(([name, value]) => (
          <input key={name} type="hidden" name={name} value={value} />
        ))}
        <input type="hidden" name="credential" value="" />
        {error && (
          <p className="alert alert-danger" role="alert">
            {error}
          </p>
        )}
        <p className="alert alert-danger" role="alert" data-key-failed="" hidden>
          {t("factor.error.key")}
        </p>
        {children}
      </FlowForm>
    </div>
  )
}
