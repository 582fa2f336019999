# Pictures of answers: points with the bounds in which the truth lies, by ggplot2 where it is there.

plot.lw_answer <- function(x, column = x$columns[1L], ...) {
  if (!column %in% x$columns || !is.numeric(x$frame[[column]])) {
    bad_parameter("column", "has no numbers to draw", paste("choose among", paste(x$columns, collapse = ", ")))
  }
  drawn <- data.frame(
    label = labels_of(x), value = x$frame[[column]], low = x$frame[[paste0(column, "_low")]],
    high = x$frame[[paste0(column, "_high")]]
  )
  drawn$label <- factor(drawn$label, levels = rev(unique(drawn$label)))
  title <- paste0(x$asked, if (column %in% x$cut) " (cut)" else "")
  if (requireNamespace("ggplot2", quietly = TRUE)) with_ggplot(drawn, column, title, x) else with_graphics(drawn, column, title)
}

labels_of <- function(x) {
  if (!length(x$keys)) {
    return(rep("everybody", nrow(x$frame)))
  }
  parts <- lapply(x$frame[seq_along(x$keys)], function(one) ifelse(is.na(one), "missing", as.character(one)))
  do.call(paste, c(unname(parts), sep = ", "))
}

with_ggplot <- function(drawn, column, title, x) {
  words <- paste0("with ", 100 * x$confidence, " % confidence all bounds hold together; cost: ", price_text(x$price))
  aes <- ggplot2::aes
  .data <- ggplot2::.data
  picture <- ggplot2::ggplot(drawn, aes(x = .data[["value"]], y = .data[["label"]])) +
    ggplot2::geom_segment(aes(
      x = .data[["low"]], xend = .data[["high"]], y = .data[["label"]], yend = .data[["label"]]
    )) +
    ggplot2::geom_point(size = 2) +
    ggplot2::labs(x = column, y = NULL, title = paste(strwrap(title, 70), collapse = "\n"), caption = words) +
    ggplot2::theme_minimal() +
    ggplot2::theme(plot.title = ggplot2::element_text(size = 10), plot.title.position = "plot")
  picture
}

with_graphics <- function(drawn, column, title) {
  before <- par(mar = c(4, 8, 3, 1))
  on.exit(par(before))
  heights <- as.integer(drawn$label)
  reach <- range(c(drawn$value, drawn$low, drawn$high), na.rm = TRUE)
  plot(drawn$value, heights, xlim = reach, yaxt = "n", ylab = "", xlab = column, pch = 19, main = title)
  segments(drawn$low, heights, drawn$high, heights)
  points(drawn$value, heights, pch = 19)
  axis(2, at = heights, labels = as.character(drawn$label), las = 1)
  invisible(drawn)
}
