import type { ReactNode } from "react"
import { FlowForm, type Target } from "../flow.tsx"
import type { PageProps } from "../frame.tsx"

type KeyFormProps = Pick<PageProps, "t"> & {
  readonly target: Target
  /** Whether a key is used or registered. */
  readonly mode: "get" | "create"
  /** Options for the browser (WebAuthn §5.4, §5.5), as JSON. */
  readonly options: string
  /** Further fields, posted unchanged. */
  readonly hidden: Readonly<Record<string, string>>
  readonly error?: string | undefined
  /**
   * Whether there are alternatives: then it is shown only in browsers that support it, and passkeys
   * are also offered in the login name field.
   */
  readonly isOffered?: boolean
  readonly children: ReactNode
}

/** The page's script requests a key on submit and posts its response as `credential`. */
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
