import { useEffect, useState } from "react"
import { Button, type ButtonKind } from "./button.tsx"

type CopyButtonProps = {
  readonly value: string
  readonly label: string
  readonly done: string
  /** What is copied, for screen readers. */
  readonly description?: string
  readonly kind?: ButtonKind
}

/** Copies a value and confirms it for two seconds. */
export function CopyButton({ value, label, done, description, kind }: CopyButtonProps) {
  const [copied, setCopied] = useState(false)
  useEffect(() => {
    if (!copied) return
    const timer = setTimeout(() => setCopied(false), 2000)
    return () => clearTimeout(timer)
  }, [copied])
  return (
    <Button
      small
      kind={kind}
      aria-label={description && `${copied ? done : label}: ${description}`}
      onClick={() => {
        copyText(value)
        setCopied(true)
      }}
    >
      <span aria-live="polite">{copied ? done : label}</span>
    </Button>
  )
}

/** The clipboard API is missing on plain HTTP except on localhost, so this uses a selection. */
function copyText(value: string): void {
  if (window.isSecureContext) {
    void navigator.clipboard.writeText(value)
    return
  }
  const area = document.createElement("textarea")
  area.value = value
  area.className = "visually-hidden"
  document.body.append(area)
  area.select()
  document.execCommand("copy")
  area.remove()
}
