/** Offers a file for download. */
export function saveFile(name: string, content: string, type: string): void {
  const address = URL.createObjectURL(new Blob([content], { type }))
  const link = document.createElement("a")
  link.href = address
  link.download = name
  link.click()
  // The browser has read the URL by the next task.
  setTimeout(() => URL.revokeObjectURL(address), 0)
}
