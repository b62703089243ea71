import { useRef } from "react"
import { Button } from "../../kit/index.ts"

type FileButtonProps = {
  readonly label: string
  /** The resource of the file, if there are several; part of the label. */
  readonly name?: string
  /** The accepted file types, as in a file input. */
  readonly accept: string
  readonly busy: boolean
  readonly small?: boolean
  readonly onFile: (file: File) => void
}

/** A button to select a file; the same file can be selected again. */
export function FileButton({ label, name, accept, busy, small, onFile }: FileButtonProps) {
  const input = useRef<HTMLInputElement>(null)
  return (
    <>
      <Button
        small={small}
        disabled={busy}
        {...(name !== undefined && { "aria-label": `${name}: ${label}` })}
        onClick={() => input.current?.click()}
      >
        {label}
      </Button>
      <input
        ref={input}
        type="file"
        hidden
        aria-label={name ?? label}
        accept={accept}
        onChange={({ target }) => {
          const [file] = target.files ?? []
          if (file) onFile(file)
          target.value = ""
        }}
      />
    </>
  )
}
